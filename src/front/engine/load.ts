import type { Config } from '../../shared/contract/config.js';
import { messageOf } from '../../shared/errors.js';
import { require } from '../../shared/package-paths.js';
import type { EngineKind } from './engine.js';

/** The engine, and a line that says which it is and why. */
export interface ChosenEngine {
  kind: EngineKind;
  line: string;
  /** A fault of an engine that is used nevertheless, in the words of {@link ChosenEngine.line}. */
  fault?: string;
}

/** A binary of uWebSockets.js that loads here. */
interface LoadedUws {
  kind: EngineKind;
  /** Its faults in the self-test; '' when it passes. */
  fault: string;
}

/**
 * Chooses the configured engine; `auto` is uWebSockets.js if its binary loads and passes the self-test, or if several fronts are
 * configured and node:http cannot share their port, otherwise node:http.
 * @throws Error, in one line, if the configured engine does not run here.
 */
export async function loadEngine(wanted: Config['engine'], fronts: number): Promise<ChosenEngine> {
  if (wanted === 'node') return nodeHttp('as configured', fronts);
  const loaded = await loadUws();
  if (wanted === 'auto') {
    if (typeof loaded === 'string') return nodeHttp(loaded, fronts);
    const { kind, fault } = loaded;
    if (fault === '') {
      return { kind, line: 'engine: uWebSockets.js, its binary passes the self-test' };
    }
    const { canSharePort } = await import('./node/node.js');
    const { node } = process.versions;
    if (fronts === 1 || canSharePort(node)) {
      return nodeHttp(`the binary of uWebSockets.js here ${fault}`, fronts);
    }
    const why = `node:http of Node ${node} cannot share a port between several fronts`;
    return { kind, line: `engine: uWebSockets.js, as ${why}, but its binary ${fault}`, fault };
  }
  if (typeof loaded === 'string') {
    throw new Error(
      `${loaded}; start with --engine node, or see docs/ENGINES.md for how to add it and where there are binaries`,
    );
  }
  const { kind, fault } = loaded;
  const line = 'engine: uWebSockets.js, as configured';
  return fault === '' ? { kind, line } : { kind, line: `${line}, but its binary ${fault}`, fault };
}

/** Imported only when chosen, because it loads node:http, node:https and node:tls. */
async function nodeHttp(why: string, fronts: number): Promise<ChosenEngine> {
  const { canSharePort, nodeEngine } = await import('./node/node.js');
  const { node } = process.versions;
  if (fronts > 1 && !canSharePort(node)) {
    throw new Error(
      `several fronts on one port need Node 22.12 or uWebSockets.js (docs/ENGINES.md), and this is node:http of Node ${node} (${why}); ` +
        'start with --fronts 1',
    );
  }
  return { kind: nodeEngine, line: `engine: node:http, ${why}` };
}

/** @returns the engine, or the reason why the binary does not load. */
async function loadUws(): Promise<LoadedUws | string> {
  // uWebSockets.js is optional; docs/ENGINES.md says how to add it.
  if (!isInstalled()) return 'uWebSockets.js is not installed';
  try {
    const { uwsEngine } = await import('./uws/uws.js');
    const { selfTest } = await import('./uws/self-test.js');
    return { kind: uwsEngine, fault: (await selfTest()).join(' and ') };
  } catch (thrown) {
    const { platform, arch, version } = process;
    // The message begins with a long list of supported platforms; the reason follows `Error: `.
    const reason = messageOf(thrown).split('Error: ').at(-1);
    return `no binary of uWebSockets.js loads on ${platform} ${arch} with Node ${version} (${reason})`;
  }
}

function isInstalled(): boolean {
  try {
    require.resolve('uWebSockets.js');
    return true;
  } catch {
    return false;
  }
}
