// What a token limited to some bots sees on the stream when a thread is lost: a front, or the host of its bots.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import {
  create,
  eventually,
  FIXTURE_KINDS,
  type Incident,
  invoke,
  lineFrom,
  remove,
  snapshotFrom,
  statusFrom,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { logOf, type Snapshot } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';
import { makeToken } from '../harness/tokens.js';

let shared: Service;
beforeAll(async () => {
  shared = await startService({
    args: ['--fronts', '2'],
    config: {
      kinds: [FIXTURE_KINDS],
      drills: { enabled: true },
      hosts: { count: 1 },
      watchdog: { hang_ms: 2000 },
      restart: { backoff_ms: 20 },
    },
  });
});
afterAll(() => stopClean(shared));

// Without a journal it has a gap: test/routes/limited-streams.test.ts.
it('resumed on a replaced front: exactly the missed frames, and none from before the bot had the labels', async () => {
  const url = `${shared.url}/events`;
  const admin = await shared.token();
  const watched = await openStream(url, { token: admin });
  const config = { events_per_second: 200 };
  await create(shared, { id: 'turncoat', kind: 'synthetic', labels: { team: 'b' }, config });
  const first = await watched.waitFor((frame) => logOf(frame)?.session_id === 'turncoat');
  const changed = await call(shared, 'PATCH', '/api/bots/turncoat', {
    body: { labels: { team: 'a' } },
  });
  expect(changed.status).toBe(200);
  const { token } = await makeToken(shared, { labels: { team: 'a' } });
  const resume = (as: string): Promise<SseStream> =>
    openStream(url, { token: as, headers: { 'last-event-id': first.id as string } });
  for (const front of [0, 1]) {
    const drill = await invoke(shared, null, 'drill', { kill: 'front', front });
    expect(drill.status, drill.text).toBe(200);
    const back = `front ${front} was replaced`;
    await eventually(async () => {
      // The stream may be on the front that is being replaced.
      const stream = await resume(admin).catch(() => undefined);
      const seen = stream?.waitFor((frame) => logOf(frame)?.message === back, 500);
      const isBack = await seen?.then(
        () => true,
        () => false,
      );
      stream?.close();
      return isBack ?? false;
    }, back);
  }
  watched.close();
  const limited = await resume(token);
  onTestFinished(() => limited.close());
  await limited.waitFor((frame) => logOf(frame)?.session_id === 'turncoat');
  const frames = limited.frames.filter(({ id }) => id !== undefined);
  expect(frames[0]?.json).toMatchObject({ snapshot: { id: 'turncoat', labels: { team: 'a' } } });
  expect(frames.some(({ event }) => event === 'gap')).toBe(false);
  await remove(shared, 'turncoat');
});

it.each([
  ['loop', 'hang'],
  ['exit', 'host_lost'],
])(
  'a host lost by %s: tokens of its neighbours see the loss but not the culprit',
  async (fault, type) => {
    const culprit = `culprit-${fault}`;
    const neighbour = `neighbour-${fault}`;
    for (const id of [culprit, neighbour]) await create(shared, { id, kind: 'faulty' });
    const { token } = await makeToken(shared, { bots: [neighbour] });
    const url = `${shared.url}/events`;
    const whole = await openStream(url, { token: await shared.token() });
    const limited = await openStream(url, { token });
    onTestFinished(() => {
      whole.close();
      limited.close();
    });
    for (const id of [culprit, neighbour]) await statusFrom(whole, 0, id, 'online');
    await invoke(shared, neighbour, 'give', { which: 'number' });
    await invoke(shared, culprit, 'cause', { fault });

    const back = (shown: Snapshot): boolean => shown.status === 'online' && shown.restarts === 1;
    const seen = await snapshotFrom(limited, 0, neighbour, back);
    const [lost = '', linked] =
      /^bot host 0 was lost: incident (\S+)$/.exec(seen.last_error ?? '') ?? [];
    await lineFrom(limited, 0, ({ message }) => message === lost && message !== '');
    // Wait for the last line that could name the culprit.
    const incident = await lineFrom(whole, 0, ({ message }) => message.startsWith('incident '));
    const from = limited.frames.length;
    await invoke(shared, neighbour, 'give', { which: 'number' });
    await lineFrom(limited, from, ({ scope }) => scope === 'dispatch');
    expect(limited.raw).not.toContain(culprit);

    // A token without limits sees the culprit.
    expect(incident).toMatchObject({ scope: 'drover', session_id: culprit });
    expect(incident.message).toContain(`(${type})`);
    const loss = await lineFrom(whole, 0, ({ message }) => message.includes('(bots that ran'));
    expect(loss).toMatchObject({ scope: 'drover', session_id: null, level: 'error' });
    expect(loss.message).toContain(`bot ${culprit}`);
    const restarted = await snapshotFrom(whole, 0, culprit, back);
    expect(restarted.last_error).toMatch(new RegExp(`^bot host 0 was lost: incident ${linked}: .`));

    const answer = await call(shared, 'GET', '/api/incidents', { token });
    expect(answer.text).not.toContain(culprit);
    expect((answer.json as { incidents: Incident[] }).incidents).toEqual([
      expect.objectContaining({
        // Both bots' last error links it.
        id: linked,
        type,
        bots: [neighbour],
        bot_count: 1,
        suspect: null,
        reason: `${type} of bot host 0`,
        stack: null,
        last_lines: [],
        last_commands: [`give on ${neighbour}`],
      }),
    ]);
    for (const id of [culprit, neighbour]) await remove(shared, id);
  },
);
