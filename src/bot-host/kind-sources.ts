// Runs in a bot host thread. Owns the hook that gives all hosts of a service the same code: a file of a kind is read once, by the
// first host. Without it, a host that starts later would run a version that was saved meanwhile, beside the old one.

import * as nodeModule from 'node:module';
import type { KeptSource } from '../shared/contract/host-messages.js';
import { CODE_DIR } from '../shared/package-paths.js';

/** The part of `module.registerHooks` that is used. It is new in Node 22.15. */
interface LoadResult {
  format?: string | null | undefined;
  source?: string | ArrayBuffer | NodeJS.TypedArray | null | undefined;
  shortCircuit?: boolean | undefined;
}
type LoadHook = (
  url: string,
  context: object,
  next: (url: string, context: object) => LoadResult,
) => LoadResult;
type RegisterHooks = (hooks: { load: LoadHook }) => void;

const IS_TEXT = /^(?:module|commonjs|json)(?:-typescript)?$/;

const registerHooks = Reflect.get(nodeModule, 'registerHooks') as RegisterHooks | undefined;

/**
 * Loads these files as they were kept, and others from disk.
 * @returns the files that were loaded from disk since then. They are always none where Node has no such hooks.
 */
export function useSources(kept: readonly KeptSource[]): () => KeptSource[] {
  const found: KeptSource[] = [];
  const byUrl = new Map(kept.map((source) => [source.url, source]));
  registerHooks?.({
    load(url, context, next) {
      const known = byUrl.get(url);
      if (known) return { format: known.format, source: known.text, shortCircuit: true };
      const loaded = next(url, context);
      const { format, source } = loaded;
      if (isOfKind(url) && format && IS_TEXT.test(format) && source) {
        found.push({ url, format, text: textOf(source) });
      }
      return loaded;
    },
  });
  return () => found;
}

/** Leaves out packages: they change with an installation, which a running service does not survive anyway. */
function isOfKind(url: string): boolean {
  return (
    url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(CODE_DIR.href)
  );
}

function textOf(source: string | ArrayBuffer | NodeJS.TypedArray): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}
