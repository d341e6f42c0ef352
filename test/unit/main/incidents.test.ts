// Incident reports in a real store, and that an error of the store is reported and breaks nothing.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Incidents } from '../../../src/main/bots/incidents.js';
import { IncidentGroupStore } from '../../../src/main/store/incident-group-store.js';
import { IncidentStore } from '../../../src/main/store/incident-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import { ServiceEvents } from '../../../src/main/threads/service-events.js';
import type { Incident } from '../../../src/shared/contract/bots.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type { BroadcasterMethods, LastLine } from '../../../src/shared/contract/threads.js';
import { partial } from '../../harness/partial.js';

const FOUND = {
  type: 'crash' as const,
  reason: 'it broke',
  suspect: null,
  stack: null,
  heap: null,
  cause: '0123456789abcdef',
  last_lines_at_ms: [],
};

it('a report is stored; when that fails the line says why and nothing rejects', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const lines: string[] = [];
  let arrived = (): void => {};
  const take = ({ items }: { items: Item[] }): { head: number } => {
    for (const item of items) if (item.kind === 'log') lines.push(JSON.parse(item.message_json));
    if (items.length > 0) arrived();
    return { head: 1 };
  };
  const lastLines = (): { lines: LastLine[] } => ({
    lines: [{ at: 17, text: 'info a bot: hello' }],
  });
  new Rpc(port1, { publish: take, lastLines } as Pick<BroadcasterMethods, 'publish' | 'lastLines'>);
  const peer = new Rpc<never, BroadcasterMethods>(port2, {} as never);
  const events = new ServiceEvents({ peer, ready: Promise.resolve(peer) });
  const host = partial<HostThread>({ number: 3, commands: [] as string[] });
  const report = async (incidents: Incidents): Promise<string> => {
    const line = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await incidents.report(FOUND, host, ['a']).stored;
    await line;
    return lines.at(-1) ?? '';
  };

  const bots = { identityOf: (id: string) => ({ id, incarnation: '', labels: {} }) };
  const kept = new Incidents(new IncidentStore(store), new IncidentGroupStore(store), events);
  kept.identify(bots);
  expect(await report(kept)).toMatch(/^incident \S+ \(crash\): it broke$/);
  expect(kept.list(null, 10)).toMatchObject([
    { last_lines: ['info a bot: hello'], last_lines_at_ms: [17] },
  ]);
  // A full disk cannot be simulated here.
  const disk = new IncidentStore(store);
  const add = vi.spyOn(disk, 'add').mockRejectedValue(new Error('No space left on device'));
  const onFull = new Incidents(disk, new IncidentGroupStore(store), events);
  onFull.identify(bots);
  // As often as the window allows.
  for (let n = 0; n < 5; n++) {
    expect(await report(onFull)).toMatch(
      /^incident \S+ \(crash\): it broke; its incident report could not be stored: No space left on device$/,
    );
  }
  // When there is room again the next is stored.
  add.mockRestore();
  expect(await report(onFull)).toMatch(/^incident \S+ \(crash\): it broke$/);
  expect(disk.list(null, 10)).toHaveLength(2);
  await store.close();
});

it('a report has the commands to its bots, and is found by every bot of a large host', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  const events = partial<ServiceEvents>({ lastLines: async () => [], tell: () => {} });
  const kept = new Incidents(new IncidentStore(store), new IncidentGroupStore(store), events);
  const commands = ['say on bot-7', 'walk on bot-1', 'say on gone', 'wait on bot-7'];
  const ofHost = commands.filter((command) => command !== 'say on gone');
  const host = partial<HostThread>({ number: 3, commands });
  const bots = Array.from({ length: 9000 }, (_, n) => `bot-${n}`);
  await kept.report({ ...FOUND, suspect: 'bot-7' }, host, ['bot-7']).stored;
  await kept.report({ ...FOUND, type: 'host_lost' }, host, bots).stored;
  const commandsFor = (bot: string): string[][] =>
    kept.list([bot], 10).map(({ last_commands }) => last_commands);
  expect(commandsFor('bot-7')).toEqual([ofHost, ['say on bot-7', 'wait on bot-7']]);
  // Not among the 200 that it names.
  expect(commandsFor('bot-5000')).toEqual([ofHost]);
  expect(kept.list(['bot-5000'], 10)).toMatchObject([{ bot_count: 9000, bots: { length: 200 } }]);
  expect(JSON.stringify(kept.list(null, 10))).not.toContain('bot-5000');
  // There is a bound, and after a restart the same is found.
  expect(commandsFor('bot-8999')).toEqual([]);
  expect(new IncidentStore(store).list(['bot-5000'], 10)).toHaveLength(1);
});

it('a group counts what has no report, and is there after a restart', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  const events = partial<ServiceEvents>({ lastLines: async () => [], tell: () => {} });
  const open = (): Incidents =>
    new Incidents(new IncidentStore(store), new IncidentGroupStore(store), events);
  const all = { cause: null, after: 0, before: Date.now() + 60_000, limit: 10 };
  let kept = open();
  // More than get a report in a minute.
  const reported = Array.from({ length: 400 }, (_, n) => {
    const found = { ...FOUND, reason: `bot-${n} lost room ${n}`, suspect: `bot-${n}` };
    return kept.report(found, undefined, [`bot-${n}`]);
  });
  await Promise.all(reported.map(({ stored }) => stored));
  expect(kept.list(null, 1000)).toHaveLength(150);
  const [group] = kept.groups(all).groups;
  expect(group).toMatchObject({ title: '<bot> lost room <n>', count: 400, bot_count: 400 });
  expect(kept.list(null, 1, undefined, group?.cause)).toMatchObject([{ cause: group?.cause }]);
  expect(kept.list(null, 1, undefined, '0000000000000000')).toEqual([]);
  const before = kept.groups(all);
  await kept.close();
  kept = open();
  expect(kept.groups(all)).toEqual(before);
});

it('a bot that crashes repeatedly does not displace the reports of others', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  let kept = new IncidentStore(store);
  let serial = 0;
  const add = (suspect: string | null): Promise<void> => {
    const id = String(++serial).padStart(6, '0');
    const more = { at_ms: serial, host: 0, bots: [], last_lines: [], last_commands: [] };
    const counts = { bot_count: 0, repeats: 0, repeated_at_ms: null };
    return kept.add({ ...FOUND, ...more, ...counts, id, suspect });
  };
  const counted = (suspect: string | null): number =>
    kept.list(null, 10_000).filter((found) => found.suspect === suspect).length;
  await add('quiet');
  await Promise.all(Array.from({ length: 600 }, () => add('looping')));
  // Stored reports count after a restart too.
  kept = new IncidentStore(store);
  await Promise.all(Array.from({ length: 600 }, () => add('looping')));
  expect([counted('quiet'), counted('looping')]).toEqual([1, 50]);
  expect(kept.list(null, 1)[0]?.at_ms).toBe(serial);
  await Promise.all(Array.from({ length: 1000 }, () => add(null)));
  expect([counted('quiet'), counted('looping'), counted(null)]).toEqual([0, 0, 1000]);
});

it('a list is bounded in bytes, and has at least one report', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  const kept = new IncidentStore(store);
  const add = (serial: number, units: number): Promise<void> =>
    kept.add({
      ...FOUND,
      id: String(serial).padStart(6, '0'),
      at_ms: serial,
      host: 0,
      bots: [],
      bot_count: 0,
      repeats: 0,
      repeated_at_ms: null,
      last_lines: ['x'.repeat(units)],
      last_commands: [],
    });
  for (let serial = 0; serial < 40; serial++) await add(serial, 100_000);
  const serials = (limit: number): number[] => kept.list(null, limit).map(({ at_ms }) => at_ms);
  expect(serials(5)).toEqual([39, 38, 37, 36, 35]);
  const many = serials(1000);
  expect(many).toEqual(Array.from({ length: 20 }, (_, n) => 39 - n));
  expect(JSON.stringify(kept.list(null, 1000)).length).toBeLessThanOrEqual(2 * 1024 * 1024 + 100);
  await add(40, 3_000_000);
  expect(serials(1000)).toEqual([40]);
});

it('a query reads only the reports that it returns', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  let read = 0;
  // The real store, with a count of its reads.
  const table = store.table.bind(store);
  vi.spyOn(store, 'table').mockImplementation((name) => {
    const db = table<never>(name);
    return {
      getRange: () => db.getRange(),
      get: (key) => {
        read += 1;
        return db.get(key);
      },
    };
  });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const all: Incident[] = [];
  let incidents = new IncidentStore(store);
  for (let n = 0; n < 200; n++) {
    const incident: Incident = {
      ...FOUND,
      id: String(n).padStart(6, '0'),
      at_ms: n,
      host: 0,
      suspect: n % 7 === 0 ? (names[n % 5] as string) : null,
      bots: n % 3 === 0 ? [] : names.filter((_, at) => (n >> at) % 3 === 0),
      bot_count: 5,
      repeats: 0,
      repeated_at_ms: null,
      last_lines: [],
      last_commands: [],
    };
    all.unshift(incident);
    await incidents.add(incident);
  }
  // These two have the same FNV-1a hash.
  const same = ['costarring', 'liquid'];
  await incidents.add({ ...(all[0] as Incident), id: '000200', bots: ['costarring'] });
  for (const opened of [incidents, new IncidentStore(store)]) {
    incidents = opened;
    for (const wanted of [['a'], ['b', 'd'], names, ['nobody'], [], same.slice(1)]) {
      const expected = all.filter(
        ({ bots, suspect }) =>
          bots.some((bot) => wanted.includes(bot)) || wanted.includes(suspect ?? ''),
      );
      for (const limit of [1, 5, 1000]) {
        read = 0;
        const found = incidents.list(wanted, limit);
        expect(found).toEqual(expected.slice(0, limit));
        expect(read - found.length).toBe(wanted[0] === 'liquid' ? 1 : 0);
      }
    }
    // A report that is left out does not count towards the limit.
    const even = incidents.list(['a'], 3, (found) => (found.at_ms % 2 ? undefined : found));
    expect(even).toHaveLength(3);
    expect(even.every(({ at_ms }) => at_ms % 2 === 0)).toBe(true);
  }
});
