// Hostile frames on every channel of a bot host process, to the relay, main's Rpc, the broadcaster's frames and a front's outcomes.
// They only get what a bot host says about its own bots.

import { EventEmitter } from 'node:events';
import { writeSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eachOutcome, type OutcomeList } from '../../../src/shared/contract/command-messages.js';
import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import { hasLeft, type Item } from '../../../src/shared/contract/events.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import { DISPATCH_SCOPE, isServiceScope } from '../../../src/shared/contract/scopes.js';
import type { HostControlMethods, HostMethods } from '../../../src/shared/contract/threads.js';
import { DroverError, ERRORS } from '../../../src/shared/errors.js';
import { CommandLog } from '../../../src/shared/memory/command-log.js';
import { Heartbeat } from '../../../src/shared/memory/heartbeat.js';
import { logJson } from '../../../src/shared/stream/frame.js';
import { CALLED, pipeCases, type Way } from '../../harness/pipe-cases.js';
import { PipedHost } from '../../harness/piped-host.js';
import { randomFrom } from '../../harness/random.js';

/** `npm test` always has the same cases. `npm run long -- fuzz` has more, different each time. */
const cases = Number(process.env['FUZZ_CASES'] ?? 2000);
const seed = Number(process.env['FUZZ_SEED'] ?? 1);

const RUNS: Readonly<Record<string, number>> = { a: 1, b: 2 };
const OWN = Object.keys(RUNS);

function expectOwn({ id, run }: { id: string; run: number }): void {
  expect(RUNS[id]).toBe(run);
}

/** Main's end: what it gets is of the types that its code relies on. */
function mainOf(port: EventEmitter & { postMessage(message: unknown): void }) {
  const calls: string[] = [];
  const rpc = new Rpc<HostControlMethods, HostMethods>(port, {
    awake: () => void calls.push('awake'),
    exited(exit) {
      expectOwn(exit);
      expect([typeof exit.error, typeof exit.restart]).toEqual([
        exit.error === null ? 'object' : 'string',
        'boolean',
      ]);
      calls.push('exited');
    },
    flooded: (flood) => void expectOwn(flood),
    ready({ run }) {
      expect(Number.isSafeInteger(run)).toBe(true);
    },
    settled({ run }) {
      expect(Object.values(RUNS)).toContain(run);
    },
    used({ ms, uses, connections, memory }) {
      for (const amount of [ms, ...uses, ...(connections ?? []), ...(memory ?? [])]) {
        expect(Number.isFinite(amount) && amount >= 0).toBe(true);
      }
    },
    lateError: (late) => void expectOwn(late),
    kindFailed: ({ kind }) => expect(kind).toBe('test'),
    offered({ kind, commands }) {
      expect(kind).toBe('test');
      for (const { args } of Object.values(commands)) expect(typeof args).toBe('object');
    },
  });
  return { calls, rpc };
}

function expectItem(item: Item): void {
  if (item.kind === 'log') {
    const json = logJson(item, JSON.stringify(item.scope), JSON.stringify(item.session_id));
    // One line of an event stream.
    expect(json).not.toMatch(/[\r\n]/);
    const event = JSON.parse(json) as Record<string, unknown>;
    expect(OWN).toContain(event['session_id']);
    expect(LEVELS).toContain(event['level']);
    expect(isServiceScope(item.scope) && item.scope !== DISPATCH_SCOPE).toBe(false);
    expect(item.timestamp_ms).toBeLessThanOrEqual(Date.now());
    return;
  }
  expect(OWN).toContain(item.id);
  expect(['status', 'since_ms', 'data']).toEqual(
    expect.arrayContaining(Object.getOwnPropertyNames(item.patch)),
  );
  expect(hasLeft(item.patch.status ?? '')).toBe(false);
  JSON.stringify(item);
}

function expectOutcomes(list: OutcomeList): void {
  eachOutcome(list, (id, outcome) => {
    expect([1, 2]).toContain(id);
    if (outcome instanceof DroverError) expect(Object.keys(ERRORS)).toContain(outcome.code);
    else if (outcome !== null) JSON.parse(`{"result":${outcome}}`);
  });
}

it(`${cases} hostile frames reach nobody (FUZZ_SEED=${seed})`, { timeout: 600_000 }, async () => {
  const counts: Partial<Record<Way, { taken: number; refused: number }>> = {};
  const random = randomFrom(seed);
  const answered = { yes: 0, no: 0 };
  for (const one of each(cases, pipeCases(random, { events: 2, front: 3 }))) {
    const host = new PipedHost();
    host.startBots(...OWN);
    const port = Object.assign(new EventEmitter(), {
      postMessage: ({ method, input }: never) => void host.asMain(method, input),
    });
    const { calls, rpc } = mainOf(port);
    const { front, channel } = host.openFront();
    host.heard();
    for (const method of CALLED) host.asMain(method, null);
    front.emit('message', {
      type: 'run',
      sentAt: 0,
      commands: [1, 'a', 'go', '{}', 0, 2, 'b', 'go', '{}', 0],
    });
    const beats = new Heartbeat(host.cells.heartbeat).count;
    try {
      expect(channel).toBe(3);
      host.write(one.bytes, one.isWatch ? 'watch' : 'out');
      const [heard, published, outcomes] = [host.heard(), host.published(), front.taken()];
      for (const message of heard) port.emit('message', message);
      for (const item of published) expectItem(item);
      for (const list of outcomes) expectOutcomes(list as OutcomeList);
      const isTaken = heard.length + published.length + outcomes.length > 0 || calls.length > 0;
      const count = counts[one.way] ?? { taken: 0, refused: 0 };
      counts[one.way] = count;
      const hasBeaten = new Heartbeat(host.cells.heartbeat).count !== beats;
      if (isTaken || hasBeaten) count.taken += 1;
      if (host.isEnded) count.refused += 1;
      // Never both: a frame that is refused reaches nobody. Of a batch with a stranger, the own events are good.
      if (one.way !== 'events' && one.way !== 'other') expect(isTaken && host.isEnded).toBe(false);
      answered[isTaken ? 'yes' : 'no'] += 1;
      rpc.close(new Error('over'));
      const { failure } = await host.exit();
      if (failure?.isFault) expect(failure.message).toMatch(/^(?:it sent|what it sends)/);
    } catch (thrown) {
      throw new Error(`${one.way} (FUZZ_SEED=${seed}): ${one.shown.slice(0, 500)}`, {
        cause: thrown,
      });
    }
  }
  // The cases are near enough to what a host says to be taken at times, and hostile enough to be refused.
  for (const way of ['control', 'events', 'front', 'watch'] as const) {
    const { taken = 0, refused = 0 } = counts[way] ?? {};
    expect(taken, way).toBeGreaterThan(cases / 400);
    expect(refused, way).toBeGreaterThan(cases / 100);
  }
});

it('any note of a process is read, and none blocks its reader', async () => {
  const random = randomFrom(seed);
  const host = new PipedHost();
  const bytes = Buffer.alloc(host.cells.commandLog.byteLength + 8);
  for (let n = 0; n < 500; n++) {
    for (let at = 0; at < 64; at++) bytes[at] = random() < 0.3 ? 0xff : Math.floor(random() * 256);
    if (n % 3 === 0) bytes.fill(0, 12, 16);
    writeSync(host.note, bytes, 0, bytes.length, 0);
    host.say(0, { type: 'tell', method: 'used', input: USED });
    expect(new CommandLog(host.cells.commandLog).read().length).toBeLessThanOrEqual(20);
  }
  await host.exit();
});

const USED = { ms: 1, uses: [], connections: null, memory: null };

function* each<T>(count: number, source: Generator<T, never, void>): Generator<T> {
  for (let n = 0; n < count; n++) yield source.next().value;
}
