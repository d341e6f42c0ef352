// Which files a kind consists of, as the loader of Node passes them: the same for both ways in which Node has hooks.

import { readFileSync } from 'node:fs';
import type { KeptSource, ReadFiles } from '../shared/contract/host-messages.js';
import { CODE_DIR } from '../shared/package-paths.js';

/** The parts of the hooks of Node that are used; they wait for what comes after them, or not. */
export interface FileHooks {
  resolve(
    specifier: string,
    context: ResolveContext,
    next: Next<ResolveContext, Resolved>,
  ): Resolved;
  load(url: string, context: object, next: Next<object, LoadResult>): LoadResult;
}
interface ResolveContext {
  parentURL?: string | undefined;
}
interface Resolved {
  url: string;
  format?: string | null | undefined;
  shortCircuit?: boolean | undefined;
}
interface LoadResult {
  format?: string | null | undefined;
  source?: string | ArrayBuffer | NodeJS.TypedArray | null | undefined;
  shortCircuit?: boolean | undefined;
}
type Next<C, R> = (what: string, context: C) => R;

/** A file imports another one, or was read. */
export type Note = { from: string; to: string } | { source: KeptSource };

const IS_TEXT = /^(?:module|commonjs|json)(?:-typescript)?$/;

/** @param kept files that are loaded with these texts. */
export function fileHooks(kept: readonly KeptSource[], note: (note: Note) => void): FileHooks {
  const files = keptFiles(kept);
  return {
    resolve(specifier, context, next) {
      const resolved = keptTarget(specifier, context, files) ?? next(specifier, context);
      noteImport(context, resolved, note);
      return resolved;
    },
    load(url, context, next) {
      const known = files.get(url);
      return known ? served(known) : noteSource(url, next(url, context), note);
    },
  };
}

export type KeptFiles = ReadonlyMap<string, KeptSource>;

/** By URL. */
export function keptFiles(kept: readonly KeptSource[]): KeptFiles {
  return new Map(kept.map((source) => [source.url, source]));
}

/** Node resolves only files that are on the disk. @returns undefined for a file that was not kept. */
export function keptTarget(
  specifier: string,
  { parentURL }: ResolveContext,
  files: KeptFiles,
): Resolved | undefined {
  if (!/^(?:\.{0,2}\/|file:)/.test(specifier) || !URL.canParse(specifier, parentURL)) return;
  const { href: url } = new URL(specifier, parentURL);
  const format = files.get(url)?.format;
  return format === undefined ? undefined : { url, format, shortCircuit: true };
}

export function noteImport(
  { parentURL: from }: ResolveContext,
  { url: to }: Resolved,
  note: (note: Note) => void,
): void {
  if (from !== undefined && isOwn(from) && isFile(to)) note({ from, to });
}

export function served({ format, text: source }: KeptSource): LoadResult {
  return { format, source, shortCircuit: true };
}

/** @returns the result with the text that was noted, so that what runs is what was noted. */
export function noteSource(
  url: string,
  loaded: LoadResult,
  note: (note: Note) => void,
): LoadResult {
  const { format, source } = loaded;
  if (!isOwn(url) || !format || !IS_TEXT.test(format)) return loaded;
  // CommonJS is otherwise read by a loader that comes after the hooks.
  const text = source ? textOf(source) : readFileSync(new URL(url), 'utf8');
  note({ source: { url, format, text } });
  return { ...loaded, source: text };
}

/** What the kinds of a host consist of, as it was noted while they were loaded. */
export class FileNotes {
  /** By the file that imports. Bounded by what the kinds import, without packages. */
  readonly #imports = new Map<string, Set<string>>();
  readonly #sources: Map<string, KeptSource>;

  /** @param kept files that were not read. */
  constructor(kept: readonly KeptSource[]) {
    this.#sources = new Map(kept.map((source) => [source.url, source]));
  }

  add(note: Note): void {
    if ('source' in note) {
      this.#sources.set(note.source.url, note.source);
      return;
    }
    const known = this.#imports.get(note.from);
    if (known) known.add(note.to);
    else this.#imports.set(note.from, new Set([note.to]));
  }

  of(modules: readonly string[]): ReadFiles {
    const imports = modules.map((module): [string, string[]] => [
      module,
      [...this.#reached(module)],
    ]);
    const urls = new Set(imports.flatMap(([, files]) => files));
    const sources = [...this.#sources.values()].filter(({ url }) => urls.has(url));
    return { imports: Object.fromEntries(imports), sources };
  }

  /** The module and all that it imports; of a package, the files that are imported from elsewhere. */
  #reached(module: string): Set<string> {
    const reached = new Set([module]);
    // A set is iterated over what is added meanwhile.
    for (const url of reached) for (const to of this.#imports.get(url) ?? []) reached.add(to);
    return reached;
  }
}

/** Packages change with an installation and have a version: their files are not kept. */
function isOwn(url: string): boolean {
  return isFile(url) && !url.includes('/node_modules/');
}

/** Not a file of Drover, which does not change while it runs. */
function isFile(url: string): boolean {
  return url.startsWith('file:') && !url.startsWith(CODE_DIR.href);
}

function textOf(source: string | ArrayBuffer | NodeJS.TypedArray): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}
