// Runs in a front thread. Owns the choice of the engine. This is the one place that knows that a binary may be missing.

import { messageOf } from '../../errors.js';
import type { EngineKind } from './engine.js';

/**
 * The engine that runs here.
 * @throws Error, in one line, when the native binary of uWebSockets.js does not load on this system.
 */
export async function loadEngine(): Promise<EngineKind> {
  try {
    const { uwsEngine } = await import('./uws.js');
    return uwsEngine;
  } catch (thrown) {
    const { platform, arch, version } = process;
    // Its message begins with a long list of what it supports; what did not load comes after `Error: `.
    const reason = messageOf(thrown).split('Error: ').at(-1);
    throw new Error(
      `no binary of uWebSockets.js loads on ${platform} ${arch} with Node ${version} (${reason}); ` +
        'run it with Node 20, or see docs/ENGINES.md for other binaries',
    );
  }
}
