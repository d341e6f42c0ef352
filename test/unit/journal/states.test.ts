// What bots were at a moment of the past, from the journal: with a real ring, broadcaster and file. The time is the test's.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import { readStates } from '../../../src/journal/past-states.js';
import { JournalStates, stateAt } from '../../../src/journal/state-table.js';
import { openTables, type Tables } from '../../../src/journal/tables.js';
import type { BotSnapshot } from '../../../src/shared/contract/events.js';
import type { PastStates, StatesRequest } from '../../../src/shared/contract/journal-messages.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { journalDir, Life, type LifeOptions, sessionItem } from '../../harness/journal.js';

const START = Date.parse('2026-11-24T14:00:00Z');
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  return () => vi.useRealTimers();
});

async function begin(dir = journalDir(), options: LifeOptions = {}): Promise<Life> {
  const life = await Life.begin(dir, options);
  await life.on();
  return life;
}

async function statesAt(
  life: Life,
  at: number,
  reach: StatesRequest['reach'] = null,
): Promise<PastStates & { shown: Record<string, string> }> {
  const { body } = await life.journal.answers.states({ at, reach, token: 'a' });
  const answer = JSON.parse(Buffer.from(body).toString()) as PastStates;
  const shown = Object.fromEntries(answer.states.map(({ id, status }) => [id, status]).sort());
  return { ...answer, shown };
}

/** Publishes a state of a bot now, and has the journal read it. */
async function change(life: Life, id: string, patch: Partial<BotSnapshot>): Promise<void> {
  life.broadcaster.publish([sessionItem(id, { since_ms: Date.now(), ...patch })]);
  await statesAt(life, Date.now());
}

async function pass(ms: number): Promise<void> {
  vi.setSystemTime(Date.now() + ms);
}

it('each bot is what it was at the moment, also after a restart', async () => {
  const dir = journalDir();
  const first = await begin(dir);
  await change(first, 'a', { status: 'starting' });
  await pass(1000);
  await change(first, 'b', { status: 'running', labels: { team: 'x' }, host: 1 });
  await pass(1000);
  await change(first, 'a', { status: 'in_world', host: 0 });
  await pass(1000);
  await change(first, 'b', { status: 'deleted' });
  const moments = async (life: Life): Promise<Record<string, string>[]> => {
    const at = [-1, 0, 999, 1000, 2000, 2999, 3000].map((ms) => START + ms);
    return Promise.all(at.map(async (ms) => (await statesAt(life, ms)).shown));
  };
  const expected = [
    {},
    { a: 'starting' },
    { a: 'starting' },
    { a: 'starting', b: 'running' },
    { a: 'in_world', b: 'running' },
    { a: 'in_world', b: 'running' },
    { a: 'in_world' },
  ];
  expect(await moments(first)).toEqual(expected);
  expect((await statesAt(first, START + 2000)).states.find(({ id }) => id === 'b')).toEqual({
    id: 'b',
    kind: 'test',
    status: 'running',
    since_ms: START + 1000,
    desired: 'stopped',
    restarts: 0,
    host: 1,
    labels: { team: 'x' },
  });
  await first.replace();
  expect(await moments(first)).toEqual(expected);
  await first.end();

  await pass(60_000);
  const second = await begin(dir);
  expect(await moments(second)).toEqual(expected);
  // A run begins without bots.
  await change(second, 'c', { status: 'stopped' });
  expect((await statesAt(second, Date.now())).shown).toEqual({ c: 'stopped' });
  expect((await statesAt(second, Date.now() - 1)).shown).toEqual({});
  await second.end();
});

it('a moment at which events are missing says so', async () => {
  const first = await begin();
  await change(first, 'a', { status: 'running' });
  // What a crash leaves: some of the numbers that were reserved may have been used.
  const dir = journalDir();
  cpSync(first.dir, dir, { recursive: true });
  await first.end();
  await pass(60_000);
  const second = await begin(dir);
  await change(second, 'b', { status: 'running' });
  const between = await statesAt(second, START + 30_000);
  expect(between).toMatchObject({ shown: { a: 'running' }, is_in_gap: true });
  const now = await statesAt(second, Date.now());
  expect(now).toMatchObject({ shown: { b: 'running' }, is_in_gap: false });
  await second.end();
});

it('a token that is limited gets the bots that it reached then', async () => {
  const life = await begin();
  await change(life, 'a', { labels: { team: 'x' } });
  await change(life, 'b', { labels: { team: 'y' } });
  await pass(1000);
  await change(life, 'a', { labels: { team: 'y' } });
  const ofTeam = async (at: number): Promise<string[]> =>
    Object.keys((await statesAt(life, at, { labels: { team: 'y' } })).shown);
  expect(await ofTeam(START)).toEqual(['b']);
  expect(await ofTeam(START + 1000)).toEqual(['a', 'b']);
  expect((await statesAt(life, START, { bots: ['a'] })).shown).toEqual({ a: 'running' });
  await life.end();
});

describe('the table', () => {
  const names = new NameHasher('00'.repeat(32));
  const BOTS = ['one', 'two', 'three', 'four'];

  function open(): Tables {
    const dir = mkdtempSync(path.join(tmpdir(), 'drover-states-'));
    const tables = openTables(path.join(dir, 'journal.mdb'), 'never');
    onTestFinished(async () => {
      await tables.close();
      rmSync(dir, { recursive: true, force: true });
    });
    return tables;
  }

  const statusOf = (tables: Tables, id: string, seq: number): string | null => {
    const { low, high } = names.of(id);
    return stateAt(tables, [low, high], seq)?.status ?? null;
  };

  it('has a bot with its status since before the journal began, and names another as unknown', async () => {
    const tables = open();
    const states = new JournalStates(names);
    states.saw(1, { id: 'old', status: 'running', since_ms: START - 60_000 } as BotSnapshot);
    states.saw(2, { id: 'young', status: 'running', since_ms: START - 1000 } as BotSnapshot);
    // A journal that begins now.
    states.renew(5);
    tables.commit(() => states.write(tables));
    const parts = {
      tables,
      reader: new JournalReader(tables, () => 0),
      epoch: 'e',
      unposted: () => [],
      isOpen: () => true,
    };
    const read = async (at: number) => {
      const {
        states: known,
        unknown,
        known_from_ms,
      } = await readStates(parts, { at, reach: null });
      return { known: known.map(({ id }) => id), unknown: unknown.sort(), known_from_ms };
    };
    const known_from_ms = START;
    expect(await read(START - 5000)).toEqual({ known: ['old'], unknown: ['young'], known_from_ms });
    expect(await read(START - 90_000)).toEqual({
      known: [],
      unknown: ['old', 'young'],
      known_from_ms,
    });
  });

  it('has every state from the oldest frame on, after any removals', () => {
    const steps = fc.array(
      fc.record({
        bot: fc.constantFrom(...BOTS),
        status: fc.constantFrom('running', 'failed', 'backoff', 'deleted'),
        prune: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    const tables = open();
    fc.assert(
      fc.property(steps, (all) => {
        tables.commit(() => {
          for (const key of [...tables.states.getKeys()]) tables.states.removeSync(key);
        });
        const states = new JournalStates(names);
        const past: (string | null)[][] = [];
        const now = new Map<string, string | null>();
        let oldest = 0;
        for (const [seq, { bot, status, prune }] of all.entries()) {
          states.saw(seq, { id: bot, status, since_ms: seq } as BotSnapshot);
          now.set(bot, status === 'deleted' ? null : status);
          past.push(BOTS.map((id) => now.get(id) ?? null));
          tables.commit(() => states.write(tables));
          states.written();
          if (!prune) continue;
          oldest = Math.floor((oldest + seq) / 2);
          tables.commit(() => states.prune(tables, oldest));
        }
        for (let seq = oldest; seq < all.length; seq++) {
          expect(BOTS.map((id) => statusOf(tables, id, seq))).toEqual(past[seq]);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is pruned a step at a time, with more rows than one transaction looks at', () => {
    const tables = open();
    const states = new JournalStates(names);
    for (let seq = 1; seq <= 1000; seq++) {
      states.saw(seq, { id: `bot-${seq % 7}`, status: `s${seq}`, since_ms: seq } as BotSnapshot);
    }
    tables.commit(() => states.write(tables));
    states.written();
    for (let round = 0; round < 30; round++) tables.commit(() => states.prune(tables, 900));
    // One row for each bot from before, and those after.
    expect(tables.states.getCount()).toBe(107);
    for (let seq = 900; seq <= 1000; seq++) {
      expect(statusOf(tables, `bot-${seq % 7}`, seq)).toBe(`s${seq}`);
    }
  });
});
