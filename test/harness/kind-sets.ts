// Test harness. What a host is to load.

import { KindVersions } from '../../src/main/bots/kind-versions.js';
import type { KindSet } from '../../src/main/threads/host-thread.js';

/** Modules of which no version is known. */
export function setOf(...modules: string[]): KindSet {
  return KindVersions.unread({ modules, programs: {} });
}
