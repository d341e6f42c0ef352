// Rollouts of good and bad versions at random, with kill -9 of the service in the middle of each, and a witness outside: never two of
// one bot, one version in the end, and a report that is true. The long form: npm run long -- chaos-rollouts.

import { mkdirSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { hasEnded } from '../../src/shared/contract/operation-bounds.js';
import type { Operation, OperationBots } from '../../src/shared/contract/operations.js';
import { call } from '../harness/api.js';
import { create } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const BOTS = Number(process.env['ROLLOUT_BOTS'] ?? 24);
const ROLLOUTS = Number(process.env['ROLLOUT_COUNT'] ?? 4);
const SEED = Number(process.env['ROLLOUT_SEED'] ?? 1);

/** Hears of each run when it begins, and every 20 ms while it lasts. */
class Witness {
  readonly #server: net.Server;
  /** The last run of each bot. */
  readonly #last = new Map<string, { run: string; version: number; began: number }>();
  readonly #beats = new Map<string, number>();
  readonly two: string[] = [];
  runs = 0;

  constructor() {
    this.#server = net.createServer((socket) => {
      let text = '';
      socket
        .on('error', () => {})
        .on('data', (data) => {
          const lines = (text + String(data)).split('\n');
          text = lines.pop() ?? '';
          for (const line of lines) this.#hear(line.split(' '));
        });
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
  }

  #hear([what = '', id = '', run = '', version = '', at = '']: string[]): void {
    const sent = Number(at);
    const last = this.#last.get(id);
    if (what === 'begin') {
      this.runs += 1;
      if (last && last.began > sent) this.#overlap(id, last.run, run);
      // The run before has said something after this one had begun.
      if (last && (this.#beats.get(last.run) ?? 0) > sent) this.#overlap(id, last.run, run);
      if (!last || last.began <= sent)
        this.#last.set(id, { run, version: Number(version), began: sent });
    } else if (last && last.run !== run && sent > last.began) this.#overlap(id, run, last.run);
    this.#beats.set(run, sent);
  }

  #overlap(id: string, one: string, other: string): void {
    this.two.push(`${id}: ${one} and ${other}`);
  }

  /** By version: how many bots are heard of in it within the last second. */
  present(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { run, version } of this.#last.values()) {
      if ((this.#beats.get(run) ?? 0) < Date.now() - 1000) continue;
      counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    return counts;
  }
}

function kindOf(version: number, port: number, isBad: boolean): string {
  const end = isBad
    ? 'await ctx.sleep(30 + Math.random() * 100); throw new Error("bad release");'
    : '';
  return `import net from 'node:net';
  import { randomUUID } from 'node:crypto';
  export default { kind: 'seen', description: '', config: { type: 'object' }, state() {}, commands: {}, ready: 'up',
    async run(ctx) {
      const run = randomUUID();
      const socket = net.connect(${port}, '127.0.0.1').on('error', () => {});
      const say = (what) => socket.write([what, ctx.id, run, ${version}, Date.now()].join(' ') + '\\n');
      try {
        say('begin');
        ctx.every(20, () => say('beat'));
        ${isBad ? '' : "ctx.setStatus('up');"}
        ${end}
        await ctx.sleep(2 ** 30);
      } finally { socket.destroy(); }
    } };`;
}

/** Numbers from 0 to 1, the same for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

it(
  `${BOTS} bots and ${ROLLOUTS} rollouts (seed ${SEED})`,
  async () => {
    const dir = makeDir();
    onTestFinished(() => removeDir(dir));
    const witness = new Witness();
    const port = await witness.listen();
    onTestFinished(() => witness.close());
    const kinds = path.join(dir, 'kinds');
    mkdirSync(kinds);
    const save = (version: number, isBad: boolean): void =>
      writeFileSync(path.join(kinds, 'seen.mjs'), kindOf(version, port, isBad));
    save(0, false);
    const start = (): Promise<Service> =>
      startService({
        // Otherwise no bot starts after so many ends.
        config: {
          start: { bots: 'all' },
          kinds: [kinds],
          restart: { backoff_ms: 50, backoff_cap_ms: 200 },
        },
        dataDir: path.join(dir, 'data'),
      });
    let service = await start();
    for (let n = 0; n < BOTS; n++) await create(service, { id: `bot-${n}`, kind: 'seen' });
    const next = random(SEED);
    let expected = 0;
    const get = async (id: string): Promise<Operation> =>
      (await call(service, 'GET', `/api/operations/${id}`)).json as Operation;
    const ended = async (id: string): Promise<Operation> => {
      await expect.poll(async () => hasEnded(await get(id)), { timeout: 120_000 }).toBe(true);
      return get(id);
    };
    for (let version = 1; version <= ROLLOUTS; version++) {
      const isBad = next() < 0.5;
      save(version, isBad);
      const body = {
        ...{
          kind: 'seen',
          parallel: 1 + Math.floor(next() * 20),
          max_failed: 3,
          healthy_ms: 20_000,
        },
        ...(next() < 0.5 && { canary: 5, promote_after_ms: 200 }),
      };
      const { json } = await call(service, 'POST', '/api/rollouts', { body });
      const { id } = json as Operation;
      const killAfter = 100 + next() * 1500;
      await new Promise((resolve) => setTimeout(resolve, killAfter));
      await service.kill();
      service = await start();
      const over = await ended(id);
      expect(over.state, JSON.stringify({ version, over })).toBe(isBad ? 'stopped' : 'done');
      if (isBad) {
        await expect.poll(async () => (await get(id)).rollout?.undone_by).toBeTruthy();
        const undone = await ended((await get(id)).rollout?.undone_by as string);
        expect(undone).toMatchObject({ state: 'done', counts: { failed: 0, unknown: 0 } });
      } else expected = version;
      // One version in the end, and what the report says is what is heard.
      await expect
        .poll(() => [...witness.present()], { timeout: 60_000 })
        .toEqual([[expected, BOTS]]);
      const { bots } = (await call(service, 'GET', `/api/operations/${id}/bots`))
        .json as OperationBots;
      expect(bots).toHaveLength(BOTS);
      if (!isBad) expect(bots.every(({ result }) => result === 'done')).toBe(true);
    }
    await stopClean(service);
    expect(witness.two).toEqual([]);
    console.log(`${witness.runs} runs were heard of`);
  },
  ROLLOUTS * 240_000,
);
