// A hundred bots that are programs: they start, and nothing of them is left after a stop, a kill -9 of the service, or the loss of
// the broadcaster.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { eventually, invoke, list, watch } from '../harness/bots.js';
import { markedProcesses } from '../harness/marked-processes.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { snapshotOf } from '../harness/shapes.js';

const PROGRAMS_DIR = fileURLToPath(new URL('../fixtures/programs', import.meta.url));
/** The interpreter itself: in PATH may be a script that looks for one, which costs more than the start of Python. */
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();
const BOTS = 100;
const MARK = `drover-hundred-${process.pid}`;

/** Resolves when all bots run: each is a Python that has answered. */
async function startHundred(): Promise<Service> {
  const service = await startService({
    config: {
      programs: {
        counter: {
          command: [PYTHON, 'counter.py'],
          cwd: PROGRAMS_DIR,
          protocol: 'jsonl',
          env: { MARK },
          // On a machine that is busy with other tests.
          start_timeout_ms: 90_000,
        },
      },
      hosts: { count: 2 },
      drills: { enabled: true },
      bots: Array.from({ length: BOTS }, (_, n) => ({ id: `bot-${n}`, kind: 'counter' })),
    },
  });
  const begun = performance.now();
  await eventually(
    async () => (await list(service)).filter(({ status }) => status === 'counting').length === BOTS,
    'all bots run',
  );
  process.stdout.write(
    `${BOTS} programs ran ${Math.round(performance.now() - begun)} ms after the start\n`,
  );
  expect(markedProcesses(MARK)).toHaveLength(BOTS);
  return service;
}

const noneLeft = (): Promise<void> =>
  eventually(() => markedProcesses(MARK).length === 0, 'none is left');

it('leaves none after a stop', async () => {
  const service = await startHundred();
  await stopClean(service);
  expect(markedProcesses(MARK)).toEqual([]);
});

it('leaves none after kill -9', async () => {
  const service = await startHundred();
  await service.kill();
  await noneLeft();
});

it('keeps all when the broadcaster is lost, and leaves none after that', async () => {
  const service = await startHundred();
  const stream = await watch(service);
  const before = markedProcesses(MARK).sort();
  const from = stream.frames.length;
  await invoke(service, null, 'drill', { kill: 'broadcaster' });
  await stream.until(() => stream.frames.slice(from).some(({ event }) => event === 'gap'));
  expect((await invoke(service, 'bot-7', 'count', { by: 3 })).json).toEqual({ result: 3 });
  await stream.until(() =>
    stream.frames.some((frame) => {
      const shown = snapshotOf(frame);
      return shown?.id === 'bot-7' && (shown.data as { count?: number }).count === 3;
    }),
  );
  expect(markedProcesses(MARK).sort()).toEqual(before);
  stream.close();
  await service.kill();
  await noneLeft();
});
