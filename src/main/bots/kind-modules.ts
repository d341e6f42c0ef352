import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LoadedKinds } from '../../shared/contract/bots.js';
import type { Config } from '../../shared/contract/config.js';
import type { Program, ProgramDefinition } from '../../shared/contract/programs.js';
import { messageOf } from '../../shared/errors.js';
import { shippedKind } from '../../shared/package-paths.js';
import { MANIFEST, programModule, programOf, readManifest } from './program-definitions.js';

/** The kinds that ship. */
export const SHIPPED: readonly string[] = ['demo', 'synthetic', 'irc'];

/** Modules of bot kinds, and the places where none was found, with the reason in one line. Only bot hosts load them. */
export interface KindModules {
  modules: readonly string[];
  /** The modules that may be no kinds: they were found in a directory, where kinds may keep the files that they import. */
  perhaps: ReadonlySet<string>;
  /** The modules that stand for programs. */
  programs: Record<string, Program>;
  failed: LoadedKinds['failed'];
}

const LOADS_TYPESCRIPT = Boolean((process.features as { typescript?: unknown }).typescript);

export interface FindOptions {
  /** Programs of the configuration, by kind. */
  programs?: Readonly<Record<string, ProgramDefinition>>;
  /** How long a program may take to stop, in ms. */
  graceMs?: number;
  /** Whether this version of Node loads TypeScript. */
  loadsTypeScript?: boolean;
}

/** The programs of a configuration. */
export function programOptions({
  programs,
  hosts,
}: Pick<Config, 'programs' | 'hosts'>): FindOptions {
  return { programs, graceMs: hosts.stop_grace_ms };
}

/**
 * @param places files, directories in which every .js, .mjs, .ts and .mts file but hidden ones, declarations and tests is a kind, and
 *   every .program.json file, and names of packages.
 */
export function findKinds(
  places: readonly string[],
  { programs = {}, graceMs = 0, loadsTypeScript = LOADS_TYPESCRIPT }: FindOptions = {},
): KindModules {
  const modules = SHIPPED.map((kind) => shippedKind(kind).href);
  const perhaps = new Set<string>();
  const found: Record<string, Program> = {};
  const failed: LoadedKinds['failed'] = [];
  const addProgram = (module: string, read: () => Program): void => {
    try {
      found[module] = read();
      modules.push(module);
    } catch (thrown) {
      failed.push({ module, error: messageOf(thrown) });
    }
  };
  for (const [kind, definition] of Object.entries(programs)) {
    addProgram(programModule(kind), () => programOf(kind, definition, process.cwd(), graceMs));
  }
  for (const place of places) {
    try {
      const { files, skipped, isDirectory } = filesOf(place);
      failed.push(...skipped);
      for (const file of files) {
        const module = pathToFileURL(file).href;
        if (file.endsWith(MANIFEST)) addProgram(module, () => readManifest(file, graceMs));
        else if (/\.m?ts$/.test(file) && !loadsTypeScript) {
          failed.push({ module, error: NO_TYPESCRIPT });
        } else {
          modules.push(module);
          if (isDirectory) perhaps.add(module);
        }
      }
    } catch (thrown) {
      failed.push({ module: place, error: messageOf(thrown) });
    }
  }
  return { modules, perhaps, programs: found, failed };
}

/**
 * All that has failed: also what a host could not load.
 * @param loaded what the host says. A file that is no kind has failed, unless it was found in a directory.
 */
export function allFailed(
  { failed, perhaps }: Pick<KindModules, 'failed' | 'perhaps'>,
  loaded: LoadedKinds['failed'],
): LoadedKinds['failed'] {
  const more = loaded.map(({ helper, ...one }) =>
    helper && perhaps.has(one.module) ? { ...one, helper } : one,
  );
  return [...failed, ...more];
}

const NO_TYPESCRIPT = `Node ${process.version} does not load TypeScript: compile it to JavaScript (with tsc), or use Node 22.18 or newer`;

const COMMONJS =
  'it is CommonJS and not loaded: a kind is a module, .mjs or .js, and may import it';

/** A checkout writes a file and its source in any order, within this time, in ms. */
const CHECKOUT_MS = 10_000;

/** Whether a source has been changed since it was compiled. */
export function isNewer(source: string, built: string): boolean {
  return statSync(source).mtimeMs > statSync(built).mtimeMs + CHECKOUT_MS;
}

interface KindFilesFound {
  files: string[];
  /** Sources that are newer than the files beside them, and files of CommonJS. */
  skipped: LoadedKinds['failed'];
  isDirectory: boolean;
}

function filesOf(place: string): KindFilesFound {
  const path = resolve(place);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return { files: [path], skipped: [], isDirectory: false };
  if (stats?.isDirectory()) {
    const names = readdirSync(path);
    const files: string[] = [];
    const skipped: LoadedKinds['failed'] = [];
    for (const name of names.sort()) {
      // Hidden files are locks and copies of editors.
      if (name.startsWith('.')) continue;
      const file = join(path, name);
      if (name.endsWith(MANIFEST)) files.push(file);
      if (/\.c[jt]s$/.test(name) && !/\.(?:d|test|spec)\.c[jt]s$/.test(name)) {
        skipped.push({ module: pathToFileURL(file).href, error: COMMONJS, helper: true });
      }
      if (!/\.m?[jt]s$/.test(name) || /\.(?:d|test|spec)\.m?[jt]s$/.test(name)) continue;
      const built = name.replace(/ts$/, 'js');
      if (built === name || !names.includes(built)) files.push(file);
      else if (isNewer(file, join(path, built))) {
        const error = `it is newer than ${built}, which is loaded: compile it`;
        skipped.push({ module: pathToFileURL(file).href, error });
      }
    }
    return { files, skipped, isDirectory: true };
  }
  // Resolved as an import of a file in the working directory would be.
  const from = createRequire(join(process.cwd(), 'kinds.js'));
  try {
    return { files: [from.resolve(place)], skipped: [], isDirectory: false };
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw thrown;
    throw new Error(`there is no file, directory or package ${place} (seen from ${process.cwd()})`);
  }
}
