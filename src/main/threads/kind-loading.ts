// Loads the kinds of a bot host.

import type { LoadedKinds } from '../../shared/contract/bots.js';
import { withTimeout } from '../../shared/with-timeout.js';

/** Modules that made their host hang or end while they were loaded, or that were not loaded in time. */
export class KindBrokeHost extends Error {
  readonly modules: readonly string[];

  constructor(modules: readonly string[], reason: string) {
    super(reason);
    this.modules = modules;
  }
}

/** A host that hangs or has ended while several modules were loaded. To find out which one it was, they are loaded in turn. */
export class KindUnclear extends Error {}

/** The host that loads the kinds. */
export interface LoadingHost {
  /** Rejects when the host is lost. */
  load(module: string): Promise<LoadedKinds>;
  /** Whether its loop turns. */
  answers(): Promise<boolean>;
  /** Why it was lost, in a line. */
  lossReason(): string;
}

/** Of all modules, in their order: what they have loaded, each kind with its module. */
export interface LoadResult extends LoadedKinds {
  modules: Map<string, string>;
}

/**
 * Loads all side by side, so that one which waits for something delays no other.
 * @param withinMs for the next one to be loaded: they share the thread.
 * @throws KindUnclear; KindBrokeHost for those that are not loaded in time although the host turns.
 */
export async function loadSideBySide(
  modules: readonly string[],
  host: LoadingHost,
  withinMs: number,
): Promise<LoadResult> {
  const results = new Map<string, LoadedKinds>();
  const pending = new Map<string, Promise<void>>();
  for (const module of modules) {
    const loading = host.load(module).then((result) => {
      results.set(module, result);
      pending.delete(module);
    });
    pending.set(module, loading);
  }
  try {
    while (pending.size > 0) {
      const next = Promise.race(pending.values()).then(() => false);
      if (await withTimeout(next, withinMs, () => true)) break;
    }
  } catch {
    throw new KindUnclear();
  }
  if (pending.size > 0 && !(await host.answers())) throw new KindUnclear();
  if (pending.size > 0) throw new KindBrokeHost([...pending.keys()], tooLate(withinMs));
  return resultOf(modules, results);
}

/** Loads one after the other. @param withinMs for each. @throws KindBrokeHost */
export async function loadInTurn(
  modules: readonly string[],
  host: LoadingHost,
  withinMs: number,
): Promise<LoadResult> {
  const results = new Map<string, LoadedKinds>();
  for (const module of modules) {
    const result = await withTimeout(host.load(module), withinMs, () => null).catch(() => {
      throw new KindBrokeHost(
        [module],
        `it ended its bot host while it was loaded: ${host.lossReason()}`,
      );
    });
    if (!result) throw new KindBrokeHost([module], tooLate(withinMs));
    results.set(module, result);
  }
  return resultOf(modules, results);
}

function tooLate(withinMs: number): string {
  return `it did not load within ${withinMs} ms`;
}

/** Of two kinds with the same name, the first in the order of the modules is used, whichever was loaded first. */
function resultOf(order: readonly string[], results: ReadonlyMap<string, LoadedKinds>): LoadResult {
  const all: LoadResult = { kinds: [], failed: [], modules: new Map() };
  for (const module of order) {
    const { kinds = [], failed = [] } = results.get(module) ?? {};
    all.failed.push(...failed);
    for (const info of kinds) {
      const other = all.modules.get(info.kind);
      if (other === undefined) {
        all.kinds.push(info);
        all.modules.set(info.kind, module);
      } else all.failed.push({ module, error: `the kind ${info.kind} is in ${other} already` });
    }
  }
  return all;
}
