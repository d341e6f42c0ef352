// The process that ends programs when their host is gone. Linux only: it finds a program that was starting in /proc.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../harness/bots.js';
import { markedProcesses } from '../../harness/marked-processes.js';

const KEEPER = new URL('../../../dist/src/kinds/program/keeper.js', import.meta.url).href;
const MARK = `drover-keeper-${process.pid}`;

/** A host that starts programs with spawnKept, and what it does then. */
async function host(code: string): Promise<void> {
  const source = `
    import { spawn } from 'node:child_process';
    import { release, spawnKept } from ${JSON.stringify(KEEPER)};
    const start = (then = () => {}, command = 'sleep 1000 & sleep 1000') => spawnKept((env) => {
      const child = spawn('sh', ['-c', command], {
        env: { ...process.env, ...env },
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      then();
      return child;
    });
    const die = () => process.kill(process.pid, 'SIGKILL');
    ${code}
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env: { MARK, PATH: process.env['PATH'] },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  onTestFinished(() => {
    for (const pid of markedProcesses(MARK)) process.kill(Number(pid), 'SIGKILL');
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}

const allGone = () => eventually(() => markedProcesses(MARK).length === 0, 'all programs are gone');

it.runIf(process.platform === 'linux')(
  'ends a program whose host was killed before it could tell its group',
  async () => {
    await host('start(); start(die);');
    await allGone();
  },
);

it.runIf(process.platform === 'linux')(
  'ends what runs and leaves alone what was released, also after a start that failed',
  async () => {
    await host(`
      const kept = start();
      const free = start(undefined, 'echo started; exec sleep 1000');
      free.stdout.once('data', () => {
        release(free.pid);
        try {
          spawnKept(() => { throw new Error('no system call was made'); });
        } catch {}
        die();
      });
    `);
    await eventually(() => markedProcesses(MARK).length === 1, 'only the released one is left');
  },
);
