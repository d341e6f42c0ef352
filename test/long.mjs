// `npm run long -- <tool> [options]`: what takes minutes, or needs a quiet machine, and so is no test. Ends with the exit code of the
// tool.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const browser = ['vitest', 'run', '--config', 'test/browser/tools.config.ts'];
const cluster = [
  'vitest',
  'run',
  '--config',
  'test/cluster/tools.config.ts',
  '--project',
  'cluster',
];

const TOOLS = {
  chaos: [
    '200 bots, 50 killed hosts, a service killed 5 times [--seed, --bots, --kills, --crashes]',
    ['node', 'test/stress/chaos.mjs'],
  ],
  'chaos-rollouts': [
    '200 bots and ten rollouts, the service killed in each [ROLLOUT_BOTS, ROLLOUT_COUNT, ROLLOUT_SEED]',
    ['vitest', 'run', '--config', 'test/stress/vitest.config.ts', 'rollouts-chaos'],
  ],
  'chaos-cluster': [
    'three nodes with every fault of docs/CLUSTER.md, for 10 minutes [--seed, --minutes, --bots, --lease, --servers]',
    ['node', 'test/cluster/chaos.mjs'],
  ],
  fuzz: [
    '100,000 malformed requests, queries and messages [--seed, --cases, --engine, --part]',
    ['node', 'test/fuzz/fuzz.mjs'],
  ],
  leases: [
    'how long elections of NATS take, and which leases survive them [-t]',
    [...cluster, 'lease-table'],
  ],
  'log-rate': [
    'the log of the page under 2,000 lines a second [LOGRATE_SECONDS]',
    [...browser, 'log-rate'],
  ],
  neighbours: [
    '200 healthy bots beside ten with faults [--minutes, --bots, --cases]',
    ['node', 'test/stress/neighbours.mjs'],
  ],
  'page-cluster': ['the page of 20,000 bots on three nodes', [...browser, 'page-cluster']],
  'page-heap': ['the memory of the page in 10 minutes', [...browser, 'page-heap']],
  'page-rate': [
    'the first load of the page, and its frames with 2,000 bots',
    [...browser, 'page-rate'],
  ],
  shots: [
    'pictures of every view, in dist/shots [-t "390 light log"]',
    [...browser, 'dashboard.shots'],
  ],
  slowhttp: [
    'slowhttptest against both engines [--connections, --seconds, --engine]',
    ['node', 'test/fuzz/slowhttp.mjs'],
  ],
  soak: [
    'all that clients do, for ten minutes in which nothing may grow [--minutes, --engine]',
    ['node', 'test/stress/soak.mjs'],
  ],
  trouble: ['what the page says in an hour of trouble [TROUBLE_MINUTES]', [...browser, 'trouble']],
};

const [name, ...rest] = process.argv.slice(2);
const usage = [
  'Usage: npm run long -- <tool> [options]',
  '',
  ...Object.entries(TOOLS).map(([tool, [about]]) => `  ${tool.padEnd(13)} ${about}`),
].join('\n');

if (name === '--help' || name === '-h') {
  console.log(usage);
} else if (!name || !Object.hasOwn(TOOLS, name)) {
  console.error(`long: ${name ? `no tool "${name}"` : 'which tool?'}\n\n${usage}`);
  process.exitCode = 2;
} else {
  const [program, ...args] = TOOLS[name][1];
  const command = program === 'node' ? process.execPath : 'npx';
  const { status, error } = spawnSync(
    command,
    [...(program === 'node' ? [] : [program]), ...args, ...rest],
    { stdio: 'inherit', cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  if (error) throw error;
  process.exitCode = status ?? 1;
}
