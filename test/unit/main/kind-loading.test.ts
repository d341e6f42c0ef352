import { expect, it, onTestFinished, vi } from 'vitest';
import {
  KindBrokeHost,
  KindUnclear,
  type LoadingHost,
  loadInTurn,
  loadSideBySide,
} from '../../../src/main/threads/kind-loading.js';
import type { KindInfo, LoadedKinds } from '../../../src/shared/contract/bots.js';
import { Deferred } from '../../../src/shared/deferred.js';

const MODULES = ['a.mjs', 'b.mjs', 'c.mjs'];
const LONG_MS = 600_000;

/** A host in which each module loads when the test says so. */
class Host implements LoadingHost {
  readonly begun: string[] = [];
  readonly #loads = new Map(MODULES.map((module) => [module, new Deferred<LoadedKinds>()]));
  turns = true;

  load(module: string): Promise<LoadedKinds> {
    this.begun.push(module);
    return this.#expect(module).promise;
  }

  answers(): Promise<boolean> {
    return Promise.resolve(this.turns);
  }

  lossReason(): string {
    return 'out of memory';
  }

  loaded(module: string, kind: string): void {
    this.#expect(module).resolve({ kinds: [{ kind } as KindInfo], failed: [] });
  }

  lost(): void {
    for (const load of this.#loads.values()) {
      load.promise.catch(() => {});
      load.reject(new Error('lost'));
    }
  }

  #expect(module: string): Deferred<LoadedKinds> {
    const load = this.#loads.get(module);
    if (!load) throw new Error(`no ${module}`);
    return load;
  }
}

it('kinds load side by side; of two with the same name the first module wins, whichever is loaded first', async () => {
  const host = new Host();
  const loading = loadSideBySide(MODULES, host, LONG_MS);
  expect(host.begun).toEqual(MODULES);
  host.loaded('c.mjs', 'twin');
  host.loaded('b.mjs', 'other');
  host.loaded('a.mjs', 'twin');
  expect(await loading).toEqual({
    kinds: [{ kind: 'twin' }, { kind: 'other' }],
    failed: [{ module: 'c.mjs', error: 'the kind twin is in a.mjs already' }],
    modules: new Map([
      ['twin', 'a.mjs'],
      ['other', 'b.mjs'],
    ]),
  });
});

it('those that are not loaded in time are named, all at once', async () => {
  const host = new Host();
  host.loaded('b.mjs', 'good');
  const loading = loadSideBySide(MODULES, host, 1);
  await expect(loading).rejects.toThrow(KindBrokeHost);
  await expect(loading).rejects.toMatchObject({
    modules: ['a.mjs', 'c.mjs'],
    message: 'it did not load within 1 ms',
  });
});

it('the limit counts from the last one that was loaded: they share a thread', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const host = new Host();
  const loading = loadSideBySide(MODULES, host, 1000);
  for (const [at, module] of MODULES.entries()) {
    await vi.advanceTimersByTimeAsync(900);
    host.loaded(module, `kind-${at}`);
  }
  expect((await loading).kinds).toHaveLength(3);
});

it('a host that hangs or ends says nothing about which module did it', async () => {
  const hanging = new Host();
  hanging.turns = false;
  await expect(loadSideBySide(MODULES, hanging, 1)).rejects.toThrow(KindUnclear);
  const lost = new Host();
  const loading = loadSideBySide(MODULES, lost, LONG_MS);
  lost.lost();
  await expect(loading).rejects.toThrow(KindUnclear);
});

it('loaded in turn, the module that hangs its host or ends it is named', async () => {
  const host = new Host();
  host.loaded('a.mjs', 'good');
  const loading = loadInTurn(MODULES, host, 1);
  await expect(loading).rejects.toMatchObject({ modules: ['b.mjs'] });
  expect(host.begun).toEqual(['a.mjs', 'b.mjs']);
  const ending = new Host();
  const refused = loadInTurn(MODULES, ending, LONG_MS);
  ending.lost();
  await expect(refused).rejects.toMatchObject({
    modules: ['a.mjs'],
    message: 'it ended its bot host while it was loaded: out of memory',
  });
});
