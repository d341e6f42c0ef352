// A service as it is by default, with many bots: they are spread over hosts that are started for them, and one that loops restarts only
// those of its host.

import { expect, it } from 'vitest';
import { call } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  invoke,
  list,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const BOTS = 1200;
/** src/main/bots/host-count.ts */
const FULL = 500;

async function loads(service: Service): Promise<Map<number, number>> {
  const answer = await call(service, 'GET', '/api/hosts');
  const { hosts } = answer.json as { hosts: { host: number; bots: number }[] };
  return new Map(hosts.map(({ host, bots }) => [host, bots]));
}

async function allRun(service: Service, count: number): Promise<void> {
  await eventually(
    async () => (await list(service)).filter(({ status }) => status === 'running').length === count,
    `${count} bots that run`,
    120_000,
  );
}

it('one that loops restarts at most the bots of its host, and is alone from then on', async () => {
  const quiet = { kind: 'synthetic', config: { events_per_second: 0 } };
  const service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      bots: Array.from({ length: BOTS }, (_, n) => ({ id: `quiet-${n}`, ...quiet })),
      watchdog: { hang_ms: 3000 },
    },
  });
  const stream = await watch(service, '?session=culprit');
  try {
    await allRun(service, BOTS);
    const before = await loads(service);
    const share = Math.max(FULL, Math.ceil(BOTS / before.size));
    expect(before.size).toBeGreaterThanOrEqual(3);
    expect(Math.max(...before.values())).toBeLessThanOrEqual(share);

    await create(service, { id: 'culprit', kind: 'faulty' });
    const { host } = await statusFrom(stream, 0, 'culprit', 'online');
    const neighbours = (await list(service)).filter((bot) => bot.host === host);
    const isOf = new Set(neighbours.map(({ id }) => id));
    // It is with those on the emptiest host.
    expect(isOf.size).toBe((before.get(host as number) ?? 0) + 1);
    expect(isOf.size).toBeLessThanOrEqual(share + 1);
    let from = stream.frames.length;
    await invoke(service, 'culprit', 'cause', { fault: 'loop' });
    const { host: own } = await statusFrom(stream, from, 'culprit', 'online', 120_000);
    await allRun(service, BOTS);
    const restarted = (await list(service)).filter(({ restarts }) => restarts > 0);
    expect(new Set(restarted.map(({ id }) => id))).toEqual(isOf);

    const after = await loads(service);
    expect(after.get(own as number)).toBe(1);
    after.delete(own as number);
    expect(Math.max(...after.values())).toBeLessThanOrEqual(share);
    expect(after.size).toBe(before.size);

    // Alone after a restart, too: what it does then, nobody else notices.
    from = stream.frames.length;
    await act(service, 'culprit', 'restart');
    await statusFrom(stream, from, 'culprit', 'online');
    expect((await loads(service)).get((await snapshot(service, 'culprit')).host as number)).toBe(1);
    from = stream.frames.length;
    await invoke(service, 'culprit', 'cause', { fault: 'loop' });
    await statusFrom(stream, from, 'culprit', 'online', 120_000);
    const again = (await list(service)).filter(({ restarts }) => restarts > 1);
    expect(again.map(({ id }) => id)).toEqual(['culprit']);
  } finally {
    stream.close();
    await stopClean(service);
  }
});
