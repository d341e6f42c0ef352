// Runs in the kernel of control-groups.test.ts, as root, with the built service. What it finds it prints as one line of JSON.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const GROUP = '/sys/fs/cgroup/drover';
const DATA = '/mnt/data';
const URL_ = 'http://127.0.0.1:8090';
const SERVICE = 'test/harness/fixed-service.mjs';
const PATIENCE_MS = 120_000;

const config = {
  http: { port: 8090 },
  kinds: ['test/fixtures/isolation'],
  hosts: {
    count: 1,
    isolation_by_kind: { breaker: 'process' },
    max_heap_mb: 1024,
    process_cpu: 0.5,
  },
  watchdog: { hang_ms: 60_000 },
  journal: { enabled: false },
  demo: { enabled: false },
};
writeFileSync('/mnt/config.json', JSON.stringify(config));

/** In the group, as a service manager starts it. */
function inGroup(...args) {
  return [
    '-c',
    `echo $$ > ${GROUP}/cgroup.procs && exec "$0" "$@"`,
    process.execPath,
    SERVICE,
    // The memory guard of the service would end it only after the system has.
    JSON.stringify({ hosts: { process_memory_mb: 200 } }),
    ...args,
  ];
}

async function until(what, found) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const value = await found();
    if (ended !== undefined) throw new Error(`the service has exited with code ${ended}`);
    if (value) return value;
    await delay(50);
  }
  throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
}

let token;
/** The exit code of the service. */
let ended;
async function api(method, path, body) {
  const answer = await fetch(URL_ + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return answer.status === 204 ? null : answer.json();
}

const bot = (id) => api('GET', `/api/bots/${id}`);
const create = (id) => api('POST', '/api/bots', { id, kind: 'breaker', dedicated: true });
const invoke = (id, command, args = {}) =>
  api('POST', '/invoke', { session_id: id, command, args });
const groups = () => readdirSync(GROUP).filter((name) => name.startsWith('host-'));
const read = (name) => readFileSync(`${GROUP}/${name}`, 'utf8');

async function main() {
  const flags = ['--config', '/mnt/config.json', '--data-dir', DATA];
  const { stdout } = spawnSync('/bin/sh', inGroup('doctor', '--json', ...flags), {
    encoding: 'utf8',
  });
  const doctor = JSON.parse(stdout);
  const service = spawn('/bin/sh', inGroup('start', ...flags), {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = new Promise((resolve) => service.once('exit', (code) => resolve(code)));
  exited.then((code) => {
    ended = code;
  });
  const pin = await until(
    'the PIN',
    () => existsSync(`${DATA}/pin.txt`) && textOf(`${DATA}/pin.txt`),
  );
  await until('the service listens', () => fetch(`${URL_}/health`).catch(() => null));
  const auth = await fetch(`${URL_}/auth/pin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pin }),
  });
  ({ token } = await auth.json());

  await create('hungry');
  await until('it runs', async () => (await bot('hungry')).status === 'alive');
  const [hungryGroup] = groups();
  const limits = {
    memory: read(`${hungryGroup}/memory.max`).trim(),
    cpu: read(`${hungryGroup}/cpu.max`).trim(),
    processes: read(`${hungryGroup}/cgroup.procs`).trim().split('\n').length,
    service: read('service/cgroup.procs').trim().split('\n').includes(`${service.pid}`),
    rest: read('cgroup.procs').trim(),
  };
  await invoke('hungry', 'buffers');
  await until('it runs again', async () => {
    const { restarts, status } = await bot('hungry');
    return restarts > 0 && status === 'alive';
  });
  const { incidents } = await api('GET', '/api/bots/hungry/incidents');
  const [incident] = incidents;

  await create('busy');
  await until('it runs', async () => (await bot('busy')).status === 'alive');
  const { result } = await invoke('busy', 'where');
  const busyGroup = groups().find((name) =>
    read(`${name}/cgroup.procs`).split('\n').includes(`${result.pid}`),
  );
  await invoke('busy', 'spin');
  const stat = () =>
    Object.fromEntries(
      read(`${busyGroup}/cpu.stat`)
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    );
  await until('it was held back', () => Number(stat().nr_throttled) > 20);
  const { usage_usec, nr_periods, nr_throttled } = stat();
  const cpu = { usage_usec, nr_periods, nr_throttled };
  const health = (await fetch(`${URL_}/health`)).status;

  service.kill('SIGTERM');
  const code = await exited;
  return { doctor, limits, incident, cpu, health, code, left: groups() };
}

function textOf(file) {
  return readFileSync(file, 'utf8').trim();
}

try {
  process.stdout.write(`\nFOUND ${JSON.stringify(await main())}\n`);
} catch (thrown) {
  process.stdout.write(`\nFAILED ${thrown.stack}\n`);
}
