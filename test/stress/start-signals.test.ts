// A signal ends the service in order at whatever moment of its start it comes: exit code 0, within 10 s, nothing left.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { collect, launch, makeDir, removeDir } from '../harness/service.js';

/** Moments that are tried, spread evenly over one and a quarter times the length of a start. DROVER_TEST_MOMENTS changes it. */
const MOMENTS = Number(process.env['DROVER_TEST_MOMENTS'] ?? 8);
const OVER = 1.25;
const LIMIT_MS = 10_000;

/**
 * Says on standard error when the service has taken SIGTERM and SIGINT upon itself. Before that Node has not come to any
 * code of the service, and a signal does what it does to Node.
 */
const MARK = 'the signals are taken';
const PRELOAD = `
  import { writeSync } from 'node:fs';
  process.on('newListener', (name) => {
    if (name === 'SIGTERM') queueMicrotask(() => writeSync(2, '${MARK}\\n'));
  });
`;

/** Kinds that are not among the fixtures, because no other test could be run with them. */
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
  /** Without the mark. */
  stderr(): string;
  /** Resolves when the service has the signals. */
  marked: Promise<void>;
  listening: Promise<void>;
}

function begin(more: string[] = []): Starting {
  const preload = pathToFileURL(path.join(base, 'mark.mjs')).href;
  const child = launch([...args, ...more], {
    NODE_OPTIONS: `--import=${preload}`,
    // Threads and the processes that it starts have it too.
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

/** Sends the signal and expects a good end. */
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

/** Processes that come from this test's service, and files that are no part of a data directory. */
function leftovers(): string[] {
  const left: string[] = [];
  if (process.platform === 'linux') {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const mark = `START_TEST=${base}`;
        if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)) left.push(pid);
      } catch {
        // It has ended, or is not ours.
      }
    }
  }
  let files: string[] = [];
  try {
    files = readdirSync(path.join(base, 'data'));
  } catch {
    // The signal came before there was one.
  }
  const known = ['journal', 'pin.txt', 'store.mdb', 'store.mdb-lock', 'store.mdb.copy'];
  return [...left, ...files.filter((name) => !known.includes(name))];
}

describe.each<[string, string[]]>([
  ['with the demo', []],
  ['with several fronts and hosts', ['--no-demo', '--fronts', '3', '--bot-hosts', '2']],
])('%s', (_, more) => {
  it('ends well at any moment', { timeout: 240_000 }, async () => {
    // The first start of a data directory, and one with a store to look through.
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
    // Both were tried: an end before it listened, and one after.
    expect(begun).toBeLessThan(MOMENTS);
  });
});

it('ends well while a kind never comes to the end of its loading', async () => {
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

it('ends well while a bot holds up the start', async () => {
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
    JSON.stringify({ kinds: [kind], hosts: { count: 1 }, bots, shutdown: { bots_ms: 500 } }),
  );
  const starting = begin(['--no-demo', '--config', config]);
  await expect.poll(() => readdirSync(base)).toContain('stuck');
  await endWell(starting, 'SIGINT');
});
