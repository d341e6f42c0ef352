// The journal as clients see it: pages and downloads of past events, statistics, and limits of tokens; its thread's
// priority.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, eventually, invoke, remove, watch } from '../harness/bots.js';
import {
  allPages,
  epochOf,
  type PastEvent,
  pastDownload,
  pastPage,
  seqOf,
} from '../harness/history.js';
import { skipWithout } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

const synthetic = (id: string, rate: number, labels: Record<string, string> = {}) => ({
  id,
  kind: 'synthetic',
  config: { events_per_second: rate, message_bytes: 80 },
  labels,
});

/** Niceness of each thread: field 19 of its stat. Field 2, the name, may contain spaces. */
function niceness(pid: number | undefined): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
}

describe('GET /api/events and /api/stats', () => {
  let home: string;
  let service: Service;
  /** All events, oldest first. */
  let all: PastEvent[];
  beforeAll(async () => {
    home = makeDir();
    service = await startService({
      dataDir: path.join(home, 'data'),
      config: {
        bots: [synthetic('a', 700, { team: 'red' }), synthetic('b', 300, { team: 'blue' })],
      },
    });
    await invoke(service, null, 'ping');
    await create(service, synthetic('quiet', 0, { team: 'red' }));
    await eventually(
      async () => (await pastPage(service, '?limit=1000')).events.length === 1000,
      'lines',
    );
    await act(service, 'a', 'stop');
    await act(service, 'b', 'stop');
    all = await pastDownload(service);
  }, 90_000);
  afterAll(async () => {
    await stopClean(service);
    removeDir(home);
  });

  const sessionOf = ({ data }: PastEvent) => data.snapshot?.id ?? data.session_id ?? null;
  const idsOf = (events: readonly PastEvent[]) => events.map(({ id }) => id);

  it.each<[string, (event: PastEvent) => boolean]>([
    ['level:info -bot:a', ({ data }) => data.level === 'info' && data.session_id !== 'a'],
    [
      'event:log bot:b,quiet',
      (event) => event.event === 'log' && ['b', 'quiet'].includes(sessionOf(event) ?? ''),
    ],
    ['-event:log', ({ event }) => event !== 'log'],
    ['/"status":"[a-z]+ing"/', ({ data }) => /"status":"[a-z]+ing"/.test(JSON.stringify(data))],
    [
      'scope:b* -/[0-4]$/',
      ({ data }) => data.scope === 'bot' && !/[0-4]$/.test(data.message ?? ''),
    ],
    // About the bots as they are now.
    ['label:team=red', (event) => ['a', 'quiet'].includes(sessionOf(event) ?? '')],
    ['-label:team=red', (event) => !['a', 'quiet'].includes(sessionOf(event) ?? '')],
    [
      'status:stopped -bot:a level:info',
      ({ data }) => data.session_id === 'b' && data.level === 'info',
    ],
    ['kind:synthetic level:error', () => false],
  ])('query %s: pages have exactly what matches', async (query, is) => {
    // Changes of usage may come later.
    const last = all.at(-1)?.id ?? '';
    const before = `${epochOf(last)}-${seqOf(last) + 1}`;
    const found = await allPages(
      service,
      `?order=oldest&limit=900&before=${before}&query=${encodeURIComponent(query)}`,
    );
    const expected = all.filter(is);
    if (query !== 'kind:synthetic level:error') expect(expected.length).toBeGreaterThan(0);
    expect(idsOf(found)).toEqual(idsOf(expected));
  });

  it('a query is refused with its place', async () => {
    const answer = await call(service, 'GET', '/api/events?query=level:wran');
    expectError(answer, 400, /^query: level is one of: .* \(at character 7\)$/);
  });

  it('has every event once, in the order of ids, as on the stream', async () => {
    expect(all.length).toBeGreaterThan(1000);
    const seqs = all.map(({ id }) => seqOf(id));
    expect(seqs).toEqual(seqs.map((_, at) => (seqs[0] as number) + at));
    const from = all[20]?.id ?? '';
    const stream = await watch(service, `?last_event_id=${from}`);
    await stream.until(() => stream.frames.length >= 500);
    const streamed = stream.frames
      .slice(0, 500)
      .map(({ id, event, json }) => ({ id, event, data: json }));
    expect(all.slice(21, 521)).toEqual(streamed);
  });

  it.each([
    ['everything', '', () => true],
    ['one bot', '&session=b', (event: PastEvent) => sessionOf(event) === 'b'],
    [
      'two bots',
      '&session=a,quiet',
      (event: PastEvent) => ['a', 'quiet'].includes(sessionOf(event) ?? ''),
    ],
    ['a level', '&level=state', (event: PastEvent) => event.data.level === 'state'],
    ['a kind', '&event=session', (event: PastEvent) => event.event === 'session'],
    [
      'a scope',
      '&scope=drover,dispatch',
      (event: PastEvent) => ['drover', 'dispatch'].includes(event.data.scope ?? ''),
    ],
    [
      'a bot and a level',
      '&session=a&level=state',
      (event: PastEvent) => event.data.session_id === 'a' && event.data.level === 'state',
    ],
    ['nobody', '&session=nobody', () => false],
    ['a text', '&q=77%20XX', (event: PastEvent) => (event.data.message ?? '').includes('77 xx')],
  ] as const)(
    '%s: pages in both orders and a download return the same events',
    async (_, query, fits) => {
      const wanted = idsOf(all.filter(fits));
      const upTo = `&before=${epochOf(all[0]?.id ?? '')}-${seqOf(all.at(-1)?.id ?? '') + 1}`;
      const oldest = await allPages(service, `?order=oldest&limit=170${query}${upTo}`);
      expect(idsOf(oldest)).toEqual(wanted);
      const newest = await allPages(service, `?limit=133${query}${upTo}`);
      expect(idsOf(newest)).toEqual([...wanted].reverse());
      expect(idsOf(await pastDownload(service, `${query}${upTo}`))).toEqual(wanted);
    },
  );

  it('bounds by id and by time: after is inclusive in time, before is not', async () => {
    const [from, to] = [all[100] as PastEvent, all[700] as PastEvent];
    const byId = await allPages(service, `?order=oldest&after=${from.id}&before=${to.id}`);
    expect(idsOf(byId)).toEqual(idsOf(all.slice(101, 700)));
    const lines = all.filter(({ event }) => event === 'log');
    const [early, late] = [lines[100]?.data.timestamp_ms ?? 0, lines[700]?.data.timestamp_ms ?? 0];
    const wanted = lines.filter(({ data: { timestamp_ms: at = 0 } }) => at >= early && at < late);
    for (const [after, before] of [
      [early, late],
      [new Date(early).toISOString(), new Date(late).toISOString()],
    ]) {
      const byTime = await allPages(
        service,
        `?order=oldest&event=log&after=${after}&before=${before}`,
      );
      expect(idsOf(byTime)).toEqual(idsOf(wanted));
    }
    expect((await pastPage(service, `?after=${Date.now() + 60_000}`)).events).toEqual([]);
    expect((await pastPage(service, '?before=1000')).events).toEqual([]);
  });

  it('rejects invalid queries with one line', async () => {
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'order=up',
      'format=xml',
      'after=yesterday',
      'before=1-1',
      'cursor=nonsense',
      'colour=red',
      'q=a&q=b',
      'format=ndjson&limit=5',
      `q=${'x'.repeat(1001)}`,
    ]) {
      const answer = await call(service, 'GET', `/api/events?${query}`);
      expect(answer.status, query).toBe(400);
      expectError(answer, 400);
    }
    expectError(await call(service, 'GET', '/api/stats?step=7'), 400);
    expectError(await call(service, 'GET', '/api/stats?step=10&after=0'), 400);
    expectError(await call(service, 'GET', '/api/events', { token: null }), 401);
  });

  it('applies the limits of tokens', async () => {
    const a = await makeToken(service, { bots: ['a'] });
    const red = await makeToken(service, { labels: { team: 'red' } });
    const control = await makeToken(service, { scopes: ['control'] });
    const upTo = `&before=${all.at(-1)?.id}`;
    const ofA = await allPages(service, `?order=oldest&limit=1000${upTo}`, a.token);
    expect(idsOf(ofA)).toEqual(idsOf(all.slice(0, -1).filter((event) => sessionOf(event) === 'a')));
    const ofRed = await allPages(service, `?order=oldest&limit=1000${upTo}`, red.token);
    // The labels of a bot are known from its first snapshot on.
    const shown = (id: string): number => all.findIndex(({ data }) => data.snapshot?.id === id);
    const redFrom = new Map(['a', 'quiet'].map((id) => [id, shown(id)]));
    const wanted = all.filter(
      (event, at) => at >= (redFrom.get(sessionOf(event) ?? '') ?? Infinity),
    );
    expect(idsOf(ofRed)).toEqual(idsOf(wanted.filter(({ id }) => id !== all.at(-1)?.id)));
    expect((await pastPage(service, '?session=b', a.token)).events).toEqual([]);
    expect((await pastPage(service, '?session=b', red.token)).events).toEqual([]);
    expectError(await call(service, 'GET', '/api/events', { token: control.token }), 403);
    expectError(await call(service, 'GET', '/api/stats', { token: a.token }), 403);
    const counted = await call(service, 'GET', '/api/stats?query=event:log', { token: a.token });
    const lines = (await allPages(service, '?event=log&limit=1000', a.token)).filter(
      ({ event }) => event === 'log',
    );
    const { buckets } = counted.json as { buckets: { levels: Record<string, number> }[] };
    const sum = buckets.flatMap(({ levels }) => Object.values(levels)).reduce((x, y) => x + y, 0);
    expect(sum).toBe(lines.length);
    const statesOf = async (token: string | undefined): Promise<string[]> => {
      const { json } = await call(service, 'GET', '/api/states', { token });
      return (json as { states: { id: string }[] }).states.map(({ id }) => id).sort();
    };
    expect(await statesOf(undefined)).toEqual(expect.arrayContaining(['a', 'b']));
    expect(await statesOf(a.token)).toEqual(['a']);
    expect(await statesOf(red.token)).not.toContain('b');
  });

  it('has what the fields of a bot were, within the limits of tokens', async () => {
    const path = '/api/bots/a/history?field=status,desired&points=1';
    const answer = await call(service, 'GET', path);
    expect(answer.status, answer.text).toBe(200);
    const { points } = answer.json as {
      points: { count: number; values: Record<string, { last: unknown }> }[];
    };
    const snapshots = all.filter(({ data }) => data.snapshot?.id === 'a');
    expect(points).toMatchObject([
      {
        count: snapshots.length,
        complete: true,
        values: { status: { last: 'stopped' }, desired: { last: 'stopped' } },
      },
    ]);
    const { token } = await makeToken(service, { bots: ['b'] });
    expectError(await call(service, 'GET', path, { token }), 404, 'no bot "a"');
    for (const [query, message] of [
      ['', /^field is missing/],
      ['field=gold', /^field: there is no field "gold"/],
      ['field=since', 'field: since has no past'],
      [`field=${Array.from({ length: 11 }, (_, n) => `data.${n}`)}`, /^field has more than 10/],
      ['field=status&points=0', /^points must be/],
      ['field=status&after=20&before=10', 'after must be earlier than before'],
    ] as const) {
      expectError(await call(service, 'GET', `/api/bots/a/history?${query}`), 400, message);
    }
  });

  it('counts events by level and scope', async () => {
    const answer = await call(service, 'GET', '/api/stats?step=10');
    expect(answer.status, answer.text).toBe(200);
    const { step_s, buckets } = answer.json as {
      step_s: number;
      buckets: {
        at_ms: number;
        events: number;
        levels: Record<string, number>;
        other: number;
        scopes: Record<string, number>;
      }[];
    };
    expect(step_s).toBe(10);
    const now = await pastDownload(service);
    const sum = (of: (bucket: (typeof buckets)[number]) => number): number =>
      buckets.reduce((total, bucket) => total + of(bucket), 0);
    const logs = now.filter(({ event }) => event === 'log');
    expect(sum(({ events }) => events)).toBe(now.length);
    expect(sum(({ other }) => other)).toBe(now.length - logs.length);
    for (const level of ['info', 'state', 'warn', 'error']) {
      expect([level, sum(({ levels }) => levels[level] ?? 0)]).toEqual([
        level,
        logs.filter(({ data }) => data.level === level).length,
      ]);
    }
    expect(sum(({ scopes }) => scopes['bot'] ?? 0)).toBe(
      logs.filter(({ data }) => data.scope === 'bot').length,
    );
    for (const { at_ms } of buckets) expect(at_ms % 10_000).toBe(0);
  });

  it('a token limited by labels sees the past events that it would have seen live', async () => {
    await create(service, synthetic('turncoat', 0, { team: 'blue' }));
    await act(service, 'turncoat', 'stop');
    const changed = await call(service, 'PATCH', '/api/bots/turncoat', {
      body: { labels: { team: 'red' } },
    });
    expect(changed.status, changed.text).toBe(200);
    await act(service, 'turncoat', 'start');
    const ofTurncoat = await pastDownload(service, '&session=turncoat');
    const at = ofTurncoat.findIndex(
      ({ data }) =>
        (data.snapshot as unknown as { labels?: { team?: string } })?.labels?.team === 'red',
    );
    const red = await makeToken(service, { labels: { team: 'red' } });
    const blue = await makeToken(service, { labels: { team: 'blue' } });
    const upTo = `${epochOf(all[0]?.id ?? '')}-${seqOf(ofTurncoat.at(-1)?.id ?? '') + 1}`;
    const seen = async (token: string) =>
      idsOf(await allPages(service, `?order=oldest&session=turncoat&before=${upTo}`, token));
    expect(await seen(red.token)).toEqual(idsOf(ofTurncoat.slice(at)));
    // The frame that reports the change belongs to both.
    const first = ofTurncoat.findIndex(({ event }) => event === 'session');
    expect(await seen(blue.token)).toEqual(idsOf(ofTurncoat.slice(first, at + 1)));
    await remove(service, 'turncoat');
  });

  it('only its thread has a lower priority than the others', async (context) => {
    skipWithout(context, process.platform === 'linux', 'Linux');
    const own = Math.max(...niceness(process.pid));
    const yielding = (): number => niceness(service.child.pid).filter((nice) => nice > own).length;
    await expect.poll(yielding).toBeGreaterThan(0);
    // The journal thread, and any thread that LMDB starts from it.
    expect(yielding()).toBeLessThan(3);
  });
});
