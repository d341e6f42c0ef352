// A signal at any moment of the start shuts the service down cleanly: exit code 0, within 10 s, nothing left over.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { collect, launch, makeDir, removeDir } from '../harness/service.js';

/** Number of moments, spread evenly over 1.25 times the duration of a start. DROVER_TEST_MOMENTS changes it. */
const MOMENTS = Number(process.env['DROVER_TEST_MOMENTS'] ?? 8);
const OVER = 1.25;
const LIMIT_MS = 10_000;

/**
 * Prints a mark on standard error when the service has installed its SIGTERM and SIGINT handlers. Before that, a signal
 * has Node's default effect, because no code of the service has run.
 */
const MARK = 'the signals are taken';
const PRELOAD = `
  import { writeSync } from 'node:fs';
  process.on('newListener', (name) => {
    if (name === 'SIGTERM') queueMicrotask(() => writeSync(2, '${MARK}\\n'));
  });
`;

/** Kinds kept out of the fixtures, because no other test could run with them. */
const SDK = new URL('../../dist/src/bot-sdk/index.js', import.meta.url).href;

let base: string;
let args: string[];
beforeEach((context) => {
  const dir = makeDir();
  base = dir;
  writeFileSync(path.join(base, 'mark.mjs'), PRELOAD);
  args = ['--host', '127.0.0.1', '--port', '0', '--data-dir', path.join(base, 'data')];
  context.onTestFinished(() => removeDir(dir));
});

interface Starting {
  child: ChildProcess;
  stdout(): string;
  /** Standard error without the mark. */
  stderr(): string;
  /** Resolves when the service handles the signals. */
  marked: Promise<void>;
  listening: Promise<void>;
}

function begin(more: string[] = []): Starting {
  const preload = pathToFileURL(path.join(base, 'mark.mjs')).href;
  const child = launch([...args, ...more], {
    NODE_OPTIONS: `--import=${preload}`,
    // Its threads and child processes load it too.
    START_TEST: base,
  });
  const output = collect(child);
  const seen = (text: () => string, what: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (text().includes(what)) resolve();
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
    });
  return {
    child,
    stdout: output.stdout,
    stderr: () => output.stderr().replaceAll(`${MARK}\n`, ''),
    marked: seen(output.stderr, MARK),
    listening: seen(output.stdout, 'listening on'),
  };
}

/** Sends the signal and expects a clean shutdown. */
async function endWell(starting: Starting, signal: NodeJS.Signals): Promise<void> {
  const { child } = starting;
  const closed = once(child, 'close');
  const before = performance.now();
  child.kill(signal);
  await closed;
  const { exitCode, signalCode } = child;
  expect({ exitCode, signalCode, stderr: starting.stderr() }).toEqual({
    exitCode: 0,
    signalCode: null,
    stderr: '',
  });
  expect(performance.now() - before).toBeLessThan(LIMIT_MS);
  expect(leftovers()).toEqual([]);
}

/** Processes left by this test's service, and files that do not belong in a data directory. */
function leftovers(): string[] {
  const left: string[] = [];
  if (process.platform === 'linux') {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const mark = `START_TEST=${base}`;
        if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)) left.push(pid);
      } catch {
        // It has ended, or belongs to another user.
      }
    }
  }
  let files: string[] = [];
  try {
    files = readdirSync(path.join(base, 'data'));
  } catch {
    // The signal came before the directory existed.
  }
  const known = ['journal', 'run.json', 'store.mdb', 'store.mdb-lock', 'store.mdb.copy'];
  return [...left, ...files.filter((name) => !known.includes(name) && !/^lock\.\d+$/.test(name))];
}

describe.each<[string, string[]]>([
  ['with the demo', []],
  ['with several fronts and hosts', ['--no-demo', '--fronts', '3', '--bot-hosts', '2']],
])('%s', (_, more) => {
  it('shuts down cleanly at any moment', { timeout: 240_000 }, async () => {
    // The first start in a data directory, and one with an existing store.
    let lengthMs = 0;
    for (let n = 0; n < 2; n++) {
      const whole = begin(more);
      await whole.marked;
      const before = performance.now();
      await whole.listening;
      lengthMs = performance.now() - before;
      await endWell(whole, 'SIGTERM');
    }
    let begun = 0;
    for (let moment = 0; moment < MOMENTS; moment++) {
      const starting = begin(more);
      await starting.marked;
      await new Promise((resolve) =>
        setTimeout(resolve, (lengthMs * OVER * moment) / (MOMENTS - 1)),
      );
      await endWell(starting, moment % 2 === 0 ? 'SIGTERM' : 'SIGINT');
      if (starting.stdout() !== '') begun += 1;
    }
    // Both occurred: a shutdown before it listened, and one after.
    expect(begun).toBeLessThan(MOMENTS);
  });
});

it('shuts down cleanly while a kind never finishes loading', async () => {
  const kind = path.join(base, 'endless.mjs');
  const loading = path.join(base, 'loading');
  writeFileSync(
    kind,
    `import { writeFileSync } from 'node:fs';
     writeFileSync(${JSON.stringify(loading)}, '');
     setInterval(() => {}, 1000);
     await new Promise(() => {});`,
  );
  const config = path.join(base, 'config.json');
  writeFileSync(config, JSON.stringify({ kinds: [kind], hosts: { count: 2 } }));
  const starting = begin(['--no-demo', '--config', config]);
  await expect.poll(() => readdirSync(base)).toContain('loading');
  await endWell(starting, 'SIGTERM');
  expect(starting.stdout()).toBe('');
});

it('shuts down cleanly while a bot delays the start', async () => {
  const kind = path.join(base, 'stuck.mjs');
  const stuck = path.join(base, 'stuck');
  writeFileSync(
    kind,
    `import { writeFileSync } from 'node:fs';
     import { defineBot, Type } from ${JSON.stringify(SDK)};
     export default defineBot({
       kind: 'stuck', description: '', config: Type.Object({}), state: () => ({}), commands: {},
       async run() { writeFileSync(${JSON.stringify(stuck)}, ''); for (;;); },
     });`,
  );
  const config = path.join(base, 'config.json');
  const bots = ['a', 'b', 'c'].map((id) => ({ id, kind: 'stuck', config: {} }));
  writeFileSync(
    config,
    JSON.stringify({ kinds: [kind], hosts: { count: 1, stop_grace_ms: 500 }, bots }),
  );
  const starting = begin(['--no-demo', '--config', config]);
  await expect.poll(() => readdirSync(base)).toContain('stuck');
  await endWell(starting, 'SIGINT');
});
