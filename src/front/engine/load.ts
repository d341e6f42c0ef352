import type { Config } from '../../shared/contract/config.js';
import { messageOf } from '../../shared/errors.js';
import type { EngineKind } from './engine.js';

/** The engine, and a line that says which it is and why. */
export interface ChosenEngine {
  kind: EngineKind;
  line: string;
}

/**
 * Chooses the configured engine; `auto` is uWebSockets.js if its binary loads, otherwise node:http.
 * @throws Error, in one line, if the configured engine does not run here.
 */
export async function loadEngine(wanted: Config['engine'], fronts: number): Promise<ChosenEngine> {
  if (wanted === 'node') return nodeHttp('as configured', fronts);
  const loaded = await loadUws();
  if (typeof loaded !== 'string') {
    const why = wanted === 'uws' ? 'as configured' : 'its binary loads here';
    return { kind: loaded, line: `engine: uWebSockets.js, ${why}` };
  }
  if (wanted === 'auto') return nodeHttp(loaded, fronts);
  throw new Error(
    `${loaded}; start with --engine node, or see docs/ENGINES.md for where there are binaries`,
  );
}

/** Loaded when it is chosen: with node:http, node:https and node:tls. */
async function nodeHttp(why: string, fronts: number): Promise<ChosenEngine> {
  const { canSharePort, nodeEngine } = await import('./node/node.js');
  const { node } = process.versions;
  if (fronts > 1 && !canSharePort(node)) {
    throw new Error(
      `several fronts on one port need uWebSockets.js or Node 22.12, and this is node:http of Node ${node} (${why}); ` +
        'start with --fronts 1',
    );
  }
  return { kind: nodeEngine, line: `engine: node:http, ${why}` };
}

/** @returns the engine, or the reason why the binary does not load. */
async function loadUws(): Promise<EngineKind | string> {
  try {
    return (await import('./uws/uws.js')).uwsEngine;
  } catch (thrown) {
    const { platform, arch, version } = process;
    // The message begins with a long list of supported platforms; the reason follows `Error: `.
    const reason = messageOf(thrown).split('Error: ').at(-1);
    return `no binary of uWebSockets.js loads on ${platform} ${arch} with Node ${version} (${reason})`;
  }
}
