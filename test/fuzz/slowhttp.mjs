// Run by `npm run long -- slowhttp`: slowhttptest against the built service on loopback, with slow heads and then slow bodies,
// while it times GET /health and reads a stream. Prints a table. Exit code 0 when the 99th percentile of /health stayed
// within its limit and the stream was not interrupted.
//
//   apt-get install slowhttptest
//   npm run long -- slowhttp --connections 5000 --seconds 25 --engine uws,node

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const SERVICE = fileURLToPath(new URL('../harness/fixed-service.mjs', import.meta.url));
const MOST_P99_MS = 50;
const EVERY_MS = 10;

const options = {
  connections: { type: 'string', default: '5000' },
  seconds: { type: 'string', default: '25' },
  engine: { type: 'string', default: 'uws,node' },
};
const { values } = parseArgs({ options });
if (spawnSync('slowhttptest', ['-h']).error) {
  process.stderr.write('slowhttp: slowhttptest is missing: apt-get install slowhttptest\n');
  process.exit(2);
}

/** Starts the service. */
async function start(engine) {
  const directory = mkdtempSync(join(tmpdir(), 'drover-slowhttp-'));
  const config = join(directory, 'config.json');
  const bot = {
    id: 'a',
    kind: 'synthetic',
    config: { events_per_second: 200, message_bytes: 100 },
  };
  // Room for all of them: with the default, most bodies would be refused at once, which is an easy case.
  const limits = { max_requests_in_flight: 2 * Number(values.connections), body_timeout_ms: 7000 };
  writeFileSync(config, JSON.stringify({ engine, bots: [bot] }));
  const child = spawn(
    process.execPath,
    [
      SERVICE,
      JSON.stringify({ http: limits }),
      '--config',
      config,
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--data-dir',
      join(directory, 'data'),
      '--no-demo',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  while (!/\nengine: .*\n/.test(printed)) {
    if (child.exitCode !== null) throw new Error('the service did not start');
    await sleep(20);
  }
  const [, pin] = /^PIN=(\d+)/.exec(printed);
  const [, port] = /:(\d+)\n/.exec(printed);
  const stop = async () => {
    child.kill('SIGTERM');
    while (child.exitCode === null && child.signalCode === null) await sleep(20);
    rmSync(directory, { recursive: true });
    return child.exitCode;
  };
  return {
    child,
    port,
    url: `http://127.0.0.1:${port}`,
    pin,
    name: /\nengine: ([^,]+)/.exec(printed)[1],
    stop,
  };
}

const agent = new http.Agent({ keepAlive: false });
/** One GET /health on its own connection, in ms; undefined when it fails. */
function health(url) {
  return new Promise((resolve) => {
    const began = performance.now();
    const request = http.get(`${url}/health`, { agent }, (response) => {
      response.resume();
      response.on('end', () =>
        resolve(response.statusCode === 200 ? performance.now() - began : undefined),
      );
    });
    request.on('error', () => resolve(undefined));
  });
}

const residentMb = (pid) =>
  Math.round(
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024,
  );
const sockets = (pid) =>
  spawnSync('ls', [`/proc/${pid}/fd`])
    .stdout.toString()
    .split('\n').length;

/** The last connection counts that slowhttptest printed. */
function attack(mode, url) {
  const flags =
    mode === 'heads'
      ? ['-H', '-u', `${url}/health`]
      : ['-B', '-u', `${url}/auth/pin`, '-f', 'application/json', '-s', '4096', '-x', '10'];
  const { connections, seconds } = values;
  const child = spawn(
    'slowhttptest',
    [...flags, '-c', connections, '-r', '1000', '-i', '3', '-p', '5', '-l', seconds],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let most = 0;
  child.stdout.setEncoding('utf8').on('data', (text) => {
    // Its output is coloured: an escape sequence, which ends with `m`, may stand between the name and the count.
    for (const [, count] of text.matchAll(/connected:\s+(?:\S*?\[[\d;]*m)?(\d+)/g)) {
      most = Math.max(most, Number(count));
    }
  });
  return {
    ended: new Promise((resolve) => child.once('close', resolve)),
    most: () => most,
  };
}

async function measure(engine, mode) {
  const service = await start(engine);
  const exchanged = await fetch(`${service.url}/auth/pin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pin: service.pin }),
  });
  const { token } = await exchanged.json();
  const stream = http.get(`${service.url}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  let bytes = 0;
  let lastAt = performance.now();
  let longestSilence = 0;
  let over = false;
  stream.on('error', () => {
    over = true;
  });
  stream.on('response', (response) => {
    response.on('data', (chunk) => {
      bytes += chunk.length;
      longestSilence = Math.max(longestSilence, performance.now() - lastAt);
      lastAt = performance.now();
    });
    response.on('close', () => {
      over = true;
    });
  });
  const running = attack(mode, service.url);
  let isRunning = true;
  void running.ended.then(() => {
    isRunning = false;
  });
  const times = [];
  let failed = 0;
  let mostFiles = 0;
  while (isRunning) {
    const ms = await health(service.url);
    if (ms === undefined) failed += 1;
    else times.push(ms);
    if (times.length % 50 === 0) mostFiles = Math.max(mostFiles, sockets(service.child.pid));
    await sleep(EVERY_MS);
  }
  const wasOver = over;
  const memory = residentMb(service.child.pid);
  stream.destroy();
  const code = await service.stop();
  times.sort((a, b) => a - b);
  const at = (share) =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return {
    engine: service.name,
    slow: mode,
    connected: Math.max(running.most(), mostFiles),
    'health n': times.length,
    'p50 ms': at(0.5).toFixed(1),
    'p99 ms': at(0.99).toFixed(1),
    'max ms': at(1).toFixed(1),
    failed,
    'stream MB': (bytes / 2 ** 20).toFixed(1),
    'silence ms': Math.round(longestSilence),
    'memory MB': memory,
    held: at(0.99) < MOST_P99_MS && failed === 0 && !wasOver && code === 0,
  };
}

const rows = [];
for (const engine of values.engine.split(',')) {
  for (const mode of ['heads', 'bodies']) {
    process.stderr.write(`slowhttp: ${engine}, slow ${mode}\n`);
    rows.push(await measure(engine, mode));
  }
}
console.table(rows);
process.exit(rows.every(({ held }) => held) ? 0 : 1);
