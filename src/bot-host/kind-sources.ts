// Runs in a bot host thread. Owns the hooks through which the host loads the files of its kinds: as they were kept for their version,
// although other ones have been saved since, and with notes of what each kind consists of.

import * as nodeModule from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import type { KeptSource, ReadFiles } from '../shared/contract/host-messages.js';
import { KIND_HOOKS } from '../shared/package-paths.js';
import { type FileHooks, FileNotes, fileHooks, type Note } from './kind-files.js';

/** The parts of node:module that not every version has: `registerHooks` is new in Node 22.15. */
interface Loader {
  registerHooks?: (hooks: FileHooks) => void;
  register: (url: URL, options: object) => void;
}

const { registerHooks, register } = nodeModule as unknown as Loader;

/** How the files of a host's kinds are loaded. */
export interface SourceUse {
  /** Files that are not read again. */
  kept: readonly KeptSource[];
  /** Whether what else is loaded is noted. */
  notes: boolean;
}

/** @returns what these modules, which are loaded, consist of; nothing when that is not noted. */
export function useSources({ kept, notes }: SourceUse): (modules: readonly string[]) => ReadFiles {
  const noted = new FileNotes(kept);
  if (registerHooks) {
    registerHooks(fileHooks(kept, (note) => noted.add(note)));
    return (modules) => noted.of(modules);
  }
  // There hooks run in another thread, which costs 20 ms and 8 MB.
  if (!notes && kept.length === 0) return () => noted.of([]);
  const { port1, port2 } = new MessageChannel();
  const data = { kept, port: port2 };
  register(KIND_HOOKS, { data, transferList: [port2] });
  return (modules) => {
    for (;;) {
      const next = receiveMessageOnPort(port1) as { message: Note } | undefined;
      if (!next) return noted.of(modules);
      noted.add(next.message);
    }
  };
}
