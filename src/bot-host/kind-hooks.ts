// Runs in the thread for hooks of a bot host, where Node has no other hooks (kind-sources.ts).

import type { MessagePort } from 'node:worker_threads';
import type { KeptSource } from '../shared/contract/host-messages.js';
import {
  type FileHooks,
  type KeptFiles,
  keptFiles,
  keptTarget,
  type Note,
  noteImport,
  noteSource,
  served,
} from './kind-files.js';

/** A hook whose next one is asynchronous. */
type Later<H> = H extends (what: string, context: infer C, next: infer N) => infer R
  ? N extends (what: string, context: C) => R
    ? (what: string, context: C, next: (what: string, context: C) => Promise<R>) => Promise<R>
    : never
  : never;

let kept: KeptFiles = new Map();
let tell: (note: Note) => void = () => {};

export function initialize(data: { kept: readonly KeptSource[]; port: MessagePort }): void {
  kept = keptFiles(data.kept);
  tell = (note) => data.port.postMessage(note);
}

export const resolve: Later<FileHooks['resolve']> = async (specifier, context, next) => {
  const resolved = keptTarget(specifier, context, kept) ?? (await next(specifier, context));
  noteImport(context, resolved, tell);
  return resolved;
};

export const load: Later<FileHooks['load']> = async (url, context, next) => {
  const known = kept.get(url);
  return known ? served(known) : noteSource(url, await next(url, context), tell);
};
