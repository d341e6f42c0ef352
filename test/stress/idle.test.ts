// An idle service costs nothing: no thread wakes up to look whether there is something to do.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { create, FIXTURE_KINDS, lineFrom, statusFrom, watch } from '../harness/bots.js';
import { skipWithout } from '../harness/needs.js';
import { startService, stopClean } from '../harness/service.js';

const BOTS = 20;
/** Wake-ups of all threads in a second: five of an idle service, and room for a busy machine. */
const FEW = 20;
const WINDOW_MS = 3000;

/** How often the threads of a process have slept and were woken since their start. */
function wakeUps(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, task) => {
    const status = readFileSync(`${tasks}/${task}/status`, 'utf8');
    return sum + Number(/^voluntary_ctxt_switches:\s*(\d+)$/m.exec(status)?.[1]);
  }, 0);
}

async function wakeUpsPerSecond(pid: number): Promise<number> {
  const before = wakeUps(pid);
  const began = performance.now();
  await delay(WINDOW_MS);
  return ((wakeUps(pid) - before) / (performance.now() - began)) * 1000;
}

it('a service with idle bots hardly wakes up, and a line after that leaves at once', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const service = await startService({ config: { kinds: [FIXTURE_KINDS] } });
  onTestFinished(() => stopClean(service));
  const { pid } = service.child;
  if (pid === undefined) throw new Error('the service has no process');
  const starting = await watch(service);
  for (let n = 0; n < BOTS; n++) await create(service, { id: `bot-${n}`, kind: 'faulty' });
  for (let n = 0; n < BOTS; n++) await statusFrom(starting, 0, `bot-${n}`, 'online');
  starting.close();
  // V8 compiles and collects garbage for some time after a start.
  const options = { timeout: 90_000, interval: 0 };
  await expect.poll(() => wakeUpsPerSecond(pid), options).toBeLessThan(FEW);
  const stream = await watch(service);
  onTestFinished(() => stream.close());
  await create(service, { id: 'late', kind: 'faulty' });
  await statusFrom(stream, 0, 'late', 'online');
  await lineFrom(stream, 0, ({ session_id }) => session_id === 'late');
}, 120_000);
