// The broadcaster dies under load and is replaced: streams continue, and each loss is declared once.

import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { Log, Snapshot } from '../harness/shapes.js';

const BOTS = ['a', 'b', 'c', 'd'];

let service: Service;
beforeEach(async () => {
  service = await startService({
    args: ['--fronts', '2', '--bot-hosts', '2'],
    env: { DROVER_DRILLS_ENABLED: 'true' },
    config: {
      bots: BOTS.map((id) => ({
        id,
        kind: 'synthetic',
        config: { events_per_second: 500, message_bytes: 60 },
      })),
    },
  });
});
afterEach(() => stopClean(service));

const kill = async (): Promise<void> => {
  const body = { session_id: null, command: 'drill', args: { kill: 'broadcaster' } };
  const answer = await call(service, 'POST', '/invoke', { body });
  expect({ status: answer.status, json: answer.json }).toEqual({
    status: 200,
    json: { result: null },
  });
};

/** An open stream and what it has received. */
interface Watched {
  query: string;
  ledger: Ledger;
  stream: RawStream;
  /** Text of every numbered frame except gaps. */
  frames: Map<number, string>;
  /** The last status of each bot, from live frames and snapshots. */
  statuses: Map<string, string>;
}

async function watch(query = '', headers: Record<string, string> = {}): Promise<Watched> {
  const frames = new Map<number, string>();
  const statuses = new Map<string, string>();
  const filtered = query !== '' && !query.startsWith('?last_event_id');
  const ledger = new Ledger({ filtered, onFrame: (seq, block) => frames.set(seq, block) });
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    target: `/events${query}`,
    headers,
    onBlock: (block) => {
      ledger.take(block);
      if (!block.includes('event: session\n')) return;
      const { snapshot } = dataOf(block) as { snapshot: Snapshot };
      if (snapshot.status === 'deleted') statuses.delete(snapshot.id);
      else statuses.set(snapshot.id, snapshot.status);
    },
  });
  onTestFinished(() => stream.close());
  return { query, ledger, stream, frames, statuses };
}

const dataOf = (block: string): unknown => JSON.parse(block.slice(block.indexOf('data: ') + 6));
const botOf = (block: string): string | null => {
  const data = dataOf(block) as Partial<Log> & { snapshot?: Snapshot };
  return data.snapshot?.id ?? data.session_id ?? null;
};

/** Waits until the stream has received that many more frames. */
function more({ ledger, stream }: Watched, count: number): Promise<void> {
  const wanted = ledger.frames + count;
  return stream.until(() => ledger.frames >= wanted);
}

it('killed twice under load: every stream continues, with one gap for each kill', async () => {
  const full = await Promise.all([watch(), watch(), watch(), watch()]);
  const filtered = await Promise.all(
    ['?session=a', '?session=b,c', '?event=log&level=info', '?scope=bot'].map((q) => watch(q)),
  );
  const idle = await watch('?session=nobody');
  const busy = [...full, ...filtered];
  for (let round = 1; round <= 2; round++) {
    await Promise.all(busy.map((watched) => more(watched, 200)));
    await kill();
    await Promise.all(busy.map((watched) => more(watched, 200)));
    await idle.stream.until(() => idle.ledger.gaps.length >= round);
  }
  for (const { query, ledger, stream } of [...busy, idle]) {
    expect({ query, faults: ledger.faults }).toEqual({ query, faults: [] });
    expect(ledger.gaps).toEqual([
      { from: expect.any(Number), to: expect.any(Number), dropped: null },
      { from: expect.any(Number), to: expect.any(Number), dropped: null },
    ]);
    expect([ledger.retries, stream.isOver]).toEqual([1, false]);
  }
  // All streams declare the same losses, at the same numbers.
  const told = new Set([...busy, idle].map(({ ledger }) => JSON.stringify(ledger.gaps)));
  expect(told.size).toBe(1);
  // A filtered stream has the same frames of its bots as the full one.
  const [whole, ofA] = [full[0] as Watched, filtered[0] as Watched];
  const [from, to] = [
    ofA.ledger.first ?? 0,
    Math.min(whole.ledger.last ?? 0, ofA.ledger.last ?? 0),
  ];
  const wanted = [...whole.frames].filter(
    ([seq, block]) => seq > from && seq <= to && botOf(block) === 'a',
  );
  expect([...ofA.frames].filter(([seq]) => seq <= to)).toEqual(
    wanted.filter(([seq]) => seq > (ofA.ledger.first ?? 0)),
  );
  // A line reports it once everything runs again.
  const lines = () =>
    [...whole.frames.values()].filter((block) =>
      block.includes('the broadcaster was lost and replaced'),
    );
  await whole.stream.until(() => lines().length >= 2);
  expect(lines()).toHaveLength(2);
});

it('bots are listed, created and deleted as usual, before, during and after', async () => {
  const watched = await watch();
  await more(watched, 100);
  const ids: string[] = [];
  for (let round = 0; round < 2; round++) {
    const body = (id: string) => ({ id, kind: 'synthetic', config: { events_per_second: 50 } });
    const made = [`during-${round}-0`, `during-${round}-1`, `during-${round}-2`];
    const deaths = kill();
    const answers = await Promise.all(
      made.map((id) => call(service, 'POST', '/api/bots', { body: body(id) })),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    // A client that received 201 finds the bot.
    for (const id of made) {
      expect((await call(service, 'GET', `/api/bots/${id}`)).json).toMatchObject({ id });
    }
    await deaths;
    const again = kill();
    const gone = made[0] as string;
    expect((await call(service, 'DELETE', `/api/bots/${gone}`)).status).toBe(204);
    expect((await call(service, 'GET', `/api/bots/${gone}`)).status).toBe(404);
    await again;
    ids.push(...made.slice(1));
  }
  await more(watched, 100);
  await expect
    .poll(async () => {
      const { bots } = (await call(service, 'GET', '/api/bots')).json as { bots: Snapshot[] };
      return bots.map(({ id, status }) => `${id} ${status}`).sort();
    })
    .toEqual([...BOTS, ...ids].map((id) => `${id} running`).sort());
  expect(watched.ledger.faults).toEqual([]);
  // Lines of bots that were created during the loss are on the stream.
  const spoken = new Set([...watched.frames.values()].map(botOf));
  for (const id of ids) expect(spoken).toContain(id);
});

it('a stream resumed across the loss has it in the same place as one that stayed open', async () => {
  const stayed = await watch();
  await more(stayed, 100);
  const before = stayed.ledger.lastEventId;
  await more(stayed, 100);
  await kill();
  await more(stayed, 300);
  const [byHeader, byQuery] = await Promise.all([
    watch('', { 'Last-Event-ID': before }),
    watch(`?last_event_id=${before}`),
  ]);
  const end = stayed.ledger.last ?? 0;
  const start = Number(before.split('-')[1]);
  for (const back of [byHeader, byQuery]) {
    // A resumed stream does not report its position: the client gave it.
    await back.stream.until(() => (back.ledger.last ?? 0) >= end);
    const frames = [...back.frames].filter(([seq]) => seq <= end);
    expect(frames).toEqual([...stayed.frames].filter(([seq]) => seq > start && seq <= end));
    expect(back.ledger.gaps).toEqual(stayed.ledger.gaps);
    expect(back.ledger.snapshots).toBe(0);
    // The only fault: the ledger does not know the start position.
    expect(back.ledger.faults).toEqual([expect.stringContaining('before the stream has said')]);
  }
});

it('killed again at any moment of its replacement: everything runs again in the end', async () => {
  const watched = await watch();
  await more(watched, 100);
  const kills = 12;
  for (let n = 0; n < kills; n++) {
    await kill();
    // The moment of the kill varies: from before its start to after its first batches.
    await new Promise((resolve) => setTimeout(resolve, n * 12));
  }
  // In the end every bot of every host is on the stream again.
  const from = watched.ledger.last ?? 0;
  const heard = (): Set<string | null> =>
    new Set([...watched.frames].filter(([seq]) => seq > from).map(([, block]) => botOf(block)));
  await expect.poll(() => [...heard()]).toEqual(expect.arrayContaining(BOTS));
  expect(watched.ledger.faults).toEqual([]);
  expect(watched.ledger.gaps.length).toBeGreaterThan(0);
  expect(watched.ledger.gaps.length).toBeLessThanOrEqual(kills);
  for (const id of BOTS) {
    expect((await call(service, 'GET', `/api/bots/${id}`)).json).toMatchObject({
      status: 'running',
    });
  }
  await call(service, 'POST', '/api/bots', { body: { id: 'after', kind: 'synthetic' } });
  await watched.stream.until(() => watched.statuses.get('after') === 'running');
});

it('an open stream receives the states of all bots right after a loss', async () => {
  const watched = await watch('?event=session');
  await watched.stream.until(() => watched.ledger.snapshots === BOTS.length);
  for (let round = 0; round < 5; round++) {
    const id = `brief-${round}`;
    // One bot is created and one deleted just as it dies: their transitions are the ones that are lost.
    const [made] = await Promise.all([
      call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic' } }),
      kill(),
    ]);
    expect(made.status).toBe(201);
    const [gone] = await Promise.all([call(service, 'DELETE', `/api/bots/${id}`), kill()]);
    expect(gone.status).toBe(204);
  }
  const id = 'the-last';
  await Promise.all([
    call(service, 'POST', '/api/bots', { body: { id, kind: 'synthetic' } }),
    kill(),
  ]);
  const shown = async (): Promise<object> => {
    const { bots } = (await call(service, 'GET', '/api/bots')).json as { bots: Snapshot[] };
    return Object.fromEntries(bots.map((bot) => [bot.id, bot.status]));
  };
  // Asked again each time: the last bot may still be starting.
  await expect
    .poll(async () => isDeepStrictEqual(Object.fromEntries(watched.statuses), await shown()))
    .toBe(true);
});
