// A service that is killed again and again: each run tells of the end before, and the third one starts without the last bots.

import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, incidents, list, snapshot } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

async function kill({ child }: Service): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const statuses = async (service: Service): Promise<string[]> =>
  (await list(service)).map(({ id, desired, status }) => `${id} ${desired} ${status}`).sort();

it('names the bots that were started last, then leaves them out, until it has ended cleanly', {
  timeout: 120_000,
}, async () => {
  // A limit on the time between the ends would depend on the machine: test/unit/main/run-record.test.ts has it.
  const start = (): Promise<Service> =>
    startService({ dataDir: home, config: { start: { safe_after: 1 } } });
  let service = await start();
  for (const id of ['a', 'b']) {
    const bot = { id, kind: 'synthetic', config: { events_per_second: 1 } };
    expect((await create(service, bot)).status).toBe(201);
  }
  await stopClean(service);

  service = await start();
  expect(await incidents(service)).toEqual([]);
  const added = { id: 'c', kind: 'synthetic', config: { events_per_second: 1 } };
  expect((await create(service, added)).status).toBe(201);
  await kill(service);

  service = await start();
  const [incident] = await incidents(service);
  expect(incident).toMatchObject({ type: 'unclean_end', suspect: null, host: null, bot_count: 3 });
  expect(incident?.reason).toMatch(
    /did not end cleanly.*the bots that requests started last: c, b, a$/,
  );
  expect(service.stderr()).toContain(`drover: warning: ${incident?.reason}\n`);
  expect(await statuses(service)).toEqual(['a', 'b', 'c'].map((id) => `${id} running stopped`));
  const { last_error } = await snapshot(service, 'c');
  expect(last_error).toMatch(/^not started: the bots that requests started last are not started/);
  await stopClean(service);

  service = await start();
  expect(await statuses(service)).toEqual(['a', 'b', 'c'].map((id) => `${id} running running`));
  await stopClean(service);
});
