// GET /metrics: text in the Prometheus format, values that follow events, bounded labels.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INCIDENT_TYPES } from '../../src/shared/contract/bots.js';
import { KINDS, LEVELS } from '../../src/shared/contract/event-kinds.js';
import { ROUTES } from '../../src/shared/routes.js';
import { call, expectError, tryPin } from '../harness/api.js';
import { create, FIXTURE_KINDS, invoke } from '../harness/bots.js';
import { type Family, readMetrics } from '../harness/metrics-text.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';
import { waitForStatus } from '../harness/shapes.js';
import { makeToken, streamOf } from '../harness/tokens.js';

const TALKER = { kind: 'synthetic', config: { events_per_second: 20, message_bytes: 40 } };

let service: Service;
/** What it exported at first. */
let first: Map<string, Family>;
beforeAll(async () => {
  service = await startService({
    args: [...frontFlags(2), '--bot-hosts', '2'],
    config: { kinds: [FIXTURE_KINDS], restart: { backoff_ms: 0, policy: 'always' } },
  });
  first = await scrape();
});
afterAll(() => stopClean(service));

async function scrape(): Promise<Map<string, Family>> {
  const answer = await call(service, 'GET', '/metrics');
  expect(answer.status, answer.text).toBe(200);
  return readMetrics(answer.text);
}

/** The sum of all series with these labels. */
function total(metrics: Map<string, Family>, name: string, labels: object = {}): number {
  const samples =
    metrics.get(name.replace(/_(count|sum)$/, ''))?.samples ?? metrics.get(name)?.samples;
  const fits = (samples ?? []).filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return fits.reduce((sum, { value }) => sum + value, 0);
}

const value = async (name: string, labels: object = {}): Promise<number> =>
  total(await scrape(), name, labels);

describe('the format', () => {
  it('is valid for Prometheus, with help and types, and without duplicates', async () => {
    const { headers } = await call(service, 'GET', '/metrics');
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect((await scrape()).size).toBeGreaterThan(30);
  });

  it('the strict parser rejects invalid text', () => {
    const good = '# HELP a_total A.\n# TYPE a_total counter\na_total{x="1"} 2\n';
    expect(readMetrics(good).get('a_total')?.samples[0]?.value).toBe(2);
    const cases = [
      good.replace('a_total{', 'b_total{'),
      `${good}a_total{x="1"} 3\n`,
      `${good}a_total{y="1"} 3\n`,
      good.replaceAll('a_total', 'a'),
      good.replaceAll('a_total', 'a_ms_total'),
      good.replace('counter', 'gauge'),
      good.replace('2', 'two'),
      good.replace('# HELP a_total A.\n', ''),
      '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    ];
    for (const text of cases) expect(() => readMetrics(text), text).toThrow();
  });

  it('docs/METRICS.md describes exactly the exported metrics', async () => {
    const text = readFileSync(new URL('../../docs/METRICS.md', import.meta.url), 'utf8');
    const listed = [...text.matchAll(/^\| `((?:drover|process)_[a-z_]+)(?:\{[^`]*\})?` /gm)].map(
      ([, name]) => name,
    );
    // Missing where the system does not report them.
    const optional = [
      ...['process_open_fds', 'process_max_fds'],
      // Only in a cluster: test/routes/nodes.test.ts.
      ...listed.filter((name) => name?.startsWith('drover_cluster_')),
    ];
    const present = [...(await scrape()).keys()];
    expect([...new Set([...present, ...optional])].sort()).toEqual([...listed].sort());
  });

  it('a new service has the labels of docs/METRICS.md, and 0 for all label values known in advance', async () => {
    const metrics = first;
    const text = readFileSync(new URL('../../docs/METRICS.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `((?:drover|process)_[a-z_]+)(?:\{([^`]*)\})?` /gm)];
    for (const [, name = '', labels] of rows) {
      const documented = labels?.split(', ').sort() ?? [];
      for (const sample of metrics.get(name)?.samples ?? []) {
        const { le: _, ...own } = sample.labels;
        expect([name, Object.keys(own).sort()]).toEqual([name, documented]);
      }
    }
    const by = (name: string, label: string) =>
      metrics.get(name)?.samples.map(({ labels, value }) => [labels[label], value]);
    const kinds = (await call(service, 'GET', '/api/kinds')).json as {
      kinds: { kind: string }[];
    };
    expect(kinds.kinds.length).toBeGreaterThan(3);
    expect(by('drover_bot_restarts_total', 'kind')).toEqual(
      kinds.kinds.map(({ kind }) => [kind, 0]),
    );
    expect(by('drover_incidents_total', 'type')).toEqual(INCIDENT_TYPES.map((type) => [type, 0]));
    expect(by('drover_events_total', 'event')?.map(([event]) => event)).toEqual([...KINDS]);
    expect(by('drover_log_lines_total', 'level')?.map(([level]) => level)).toEqual([...LEVELS]);
    // One request and no bot yet, so there are no other series, and in particular none without labels.
    expect(metrics.get('drover_http_requests_total')?.samples).toMatchObject([
      { labels: { method: 'POST', route: '/auth/pin', status: '200' }, value: 1 },
    ]);
    expect(metrics.get('drover_bots')?.samples).toEqual([]);
  });
});

describe('the values', () => {
  it('bots by kind and status, as they are created, stopped and deleted', async () => {
    const stream = await streamOf(service, await service.token());
    try {
      for (const id of ['count-1', 'count-2']) await create(service, { id, ...TALKER });
      for (const id of ['count-1', 'count-2']) await waitForStatus(stream, id, 'running');
      expect(await value('drover_bots', { kind: 'synthetic', status: 'running' })).toBe(2);
      await call(service, 'POST', '/api/bots/count-1/stop');
      expect(await value('drover_bots', { kind: 'synthetic', status: 'running' })).toBe(1);
      expect(await value('drover_bots', { kind: 'synthetic', status: 'stopped' })).toBe(1);
      await call(service, 'DELETE', '/api/bots/count-1');
      await call(service, 'DELETE', '/api/bots/count-2');
      expect(await value('drover_bots', { kind: 'synthetic' })).toBe(0);
    } finally {
      stream.close();
    }
  });

  it('streams with their frames and bytes, and published events and lines', async () => {
    // Streams of other tests count until the service notices that they are closed.
    await expect.poll(() => value('drover_streams')).toBe(0);
    const before = await scrape();
    const stream = await streamOf(service, await service.token(), '?snapshot=0');
    try {
      expect(await value('drover_streams')).toBe(1);
      await create(service, { id: 'talker', ...TALKER });
      await stream.until(() => stream.frames.length >= 10);
      const bytes = stream.raw.length;
      const frames = stream.frames.length;
      await call(service, 'DELETE', '/api/bots/talker');
      const after = await scrape();
      const grown = (name: string, labels = {}): number =>
        total(after, name, labels) - total(before, name, labels);
      expect(grown('drover_stream_bytes_total')).toBeGreaterThanOrEqual(bytes);
      expect(grown('drover_stream_frames_total')).toBeGreaterThanOrEqual(frames);
      expect(grown('drover_stream_writes_total')).toBeGreaterThan(0);
      expect(grown('drover_events_total', { event: 'log' })).toBeGreaterThan(4);
      expect(grown('drover_events_total', { event: 'activity' })).toBeGreaterThan(0);
      expect(grown('drover_events_total', { event: 'session' })).toBeGreaterThan(2);
      expect(grown('drover_log_lines_total', { level: 'info' })).toBeGreaterThan(4);
      expect(grown('drover_flush_duration_seconds_count')).toBeGreaterThan(0);
      expect(total(after, 'drover_ring_frames')).toBeGreaterThan(10);
      expect(total(after, 'drover_ring_bytes')).toBeGreaterThan(
        100 * total(after, 'drover_ring_frames'),
      );
    } finally {
      stream.close();
    }
    await expect.poll(() => value('drover_streams')).toBe(0);
  });

  it('restarts and incidents', async () => {
    expect((await create(service, { id: 'faulty-1', kind: 'faulty' })).status).toBe(201);
    await invoke(service, 'faulty-1', 'cause', { fault: 'timer' });
    await expect.poll(() => value('drover_bot_restarts_total', { kind: 'faulty' })).toBe(1);
    expect(await value('drover_incidents_total', { type: 'crash' })).toBe(1);
    await call(service, 'DELETE', '/api/bots/faulty-1');
  });

  it('requests by route and status, also for unknown routes', async () => {
    const asked = { method: 'GET', route: '/api/bots/{id}', status: '404' };
    const other = { method: 'other', route: 'other', status: '404' };
    const health = { method: 'GET', route: '/health', status: '200' };
    const before = await scrape();
    for (const path of ['/api/bots/a', '/api/bots/b', '/nope', '/health']) {
      await call(service, 'GET', path);
    }
    const after = await scrape();
    const grown = (labels: object): number =>
      total(after, 'drover_http_requests_total', labels) -
      total(before, 'drover_http_requests_total', labels);
    expect([grown(asked), grown(other), grown(health)]).toEqual([2, 1, 1]);
    const routes = new Set(Object.keys(ROUTES));
    for (const { labels } of after.get('drover_http_requests_total')?.samples ?? []) {
      const name = `${labels['method']} ${labels['route']}`;
      expect(name === 'other other' || routes.has(name), name).toBe(true);
    }
  });

  it('wrong PINs and the lockout', async () => {
    expect(await value('drover_pin_lock_seconds')).toBe(0);
    const wrong = service.pin === '000000' ? '000001' : '000000';
    const before = await value('drover_pin_failures_total');
    let failures = 0;
    for (;;) {
      const { status } = await tryPin(service, wrong);
      if (status === 429) break;
      expect(status).toBe(401);
      failures += 1;
    }
    const metrics = await scrape();
    expect(total(metrics, 'drover_pin_failures_total') - before).toBe(failures);
    expect(total(metrics, 'drover_pin_lock_seconds')).toBeGreaterThan(0);
    const locked = { route: '/auth/pin', status: '429' };
    expect(total(metrics, 'drover_http_requests_total', locked)).toBe(1);
  });

  it('the event loop of every thread', async () => {
    const metrics = await scrape();
    const threads = new Set(
      metrics.get('drover_event_loop_lag_seconds')?.samples.map(({ labels }) => labels['thread']),
    );
    const fronts = frontFlags(2)[1] === '1' ? ['front-0'] : ['front-0', 'front-1'];
    const shared = ['main', 'broadcaster', ...fronts, 'host-0', 'host-1'];
    expect([...threads]).toEqual([...shared, 'dedicated', 'journal', 'rules']);
    for (const thread of [...shared, 'journal']) {
      await expect
        .poll(() => value('drover_event_loop_lag_seconds_count', { thread }))
        .toBeGreaterThan(0);
      expect(total(metrics, 'drover_thread_busy_seconds_total', { thread })).toBeGreaterThan(0);
    }
  });

  it('the journal', async () => {
    await expect.poll(() => value('drover_journal_up')).toBe(1);
    await expect.poll(() => value('drover_journal_bytes')).toBeGreaterThan(0);
    expect(await value('drover_journal_lost_events_total')).toBe(0);
  });

  it('the process', async () => {
    const metrics = await scrape();
    expect(total(metrics, 'process_cpu_seconds_total')).toBeGreaterThan(0.1);
    expect(total(metrics, 'process_resident_memory_bytes')).toBeGreaterThan(50e6);
    const age = Date.now() / 1000 - total(metrics, 'process_start_time_seconds');
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(600);
    expect(total(metrics, 'drover_tokens')).toBeGreaterThan(0);
    expect(total(metrics, 'drover_connections')).toBeGreaterThan(0);
  });
});

describe('access', () => {
  it('needs the scope read, and a token that is not limited to some bots', async () => {
    const control = await makeToken(service, { scopes: ['control'] });
    expectError(await call(service, 'GET', '/metrics', { token: control.token }), 403);
    const limited = await makeToken(service, { bots: ['a'] });
    const refused = await call(service, 'GET', '/metrics', { token: limited.token });
    expectError(refused, 403, /limited/);
    const read = await makeToken(service);
    expect((await call(service, 'GET', '/metrics', { token: read.token })).status).toBe(200);
  });
});

describe('docs/grafana/drover.json', () => {
  interface Panel {
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets?: { expr: string; legendFormat?: string }[];
  }
  const dashboard = JSON.parse(
    readFileSync(new URL('../../docs/grafana/drover.json', import.meta.url), 'utf8'),
  ) as { panels: Panel[]; uid: string; schemaVersion: number };
  const drawn = dashboard.panels.filter(({ type }) => type !== 'row');

  it('uses only existing metrics and labels', async () => {
    const metrics = await scrape();
    const known = new Map<string, Set<string>>();
    for (const { name, samples } of metrics.values()) {
      known.set(name, new Set());
      for (const sample of samples) {
        known.set(sample.name, new Set(Object.keys(sample.labels)));
      }
    }
    // Those of a cluster are exactly the documented ones: test/routes/nodes.test.ts.
    const text = readFileSync(new URL('../../docs/METRICS.md', import.meta.url), 'utf8');
    for (const [, name = '', label] of text.matchAll(
      /^\| `(drover_cluster_\w+)(?:\{(\w+)\})?`/gm,
    )) {
      known.set(name, new Set(label === undefined ? [] : [label]));
    }
    for (const { title, targets = [] } of drawn) {
      expect(targets.length, title).toBeGreaterThan(0);
      for (const { expr, legendFormat = '' } of targets) {
        const names = expr.match(/\b(?:drover|process)_[a-z_]+/g) ?? [];
        expect(names.length, expr).toBeGreaterThan(0);
        const labels = new Set(['job', 'instance']);
        for (const name of names) {
          expect([...known.keys()], `${title}: ${name}`).toContain(name);
          for (const label of known.get(name) ?? []) labels.add(label);
        }
        const by = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
          list.split(/, */),
        );
        const selected = [...expr.matchAll(/([a-z_]+)=~?"/g)].map(([, label = '']) => label);
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
        for (const label of [...by, ...selected, ...shown]) {
          // A metric without series shows no labels.
          const empty = names.some((name) => known.get(name)?.size === 0);
          expect(labels.has(label) || empty, `${title}: ${label}`).toBe(true);
        }
      }
    }
  });

  it('has no overlapping panels', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [at, a] of dashboard.panels.entries()) {
      expect(a.gridPos.x + a.gridPos.w, a.title).toBeLessThanOrEqual(24);
      for (const b of dashboard.panels.slice(at + 1)) {
        const [p, q] = [a.gridPos, b.gridPos];
        const apart = p.x + p.w <= q.x || q.x + q.w <= p.x || p.y + p.h <= q.y || q.y + q.h <= p.y;
        expect(apart, `${a.title} and ${b.title}`).toBe(true);
      }
    }
  });
});
