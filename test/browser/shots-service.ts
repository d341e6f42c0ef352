// The services behind the pictures: one with a herd to which everything has happened, and one without bots.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { call } from '../harness/api.js';
import { invoke } from '../harness/bots.js';
import { type Service, startService } from '../harness/service.js';
import { startForDashboard } from './dashboard-page.js';
import { fell, herdBots, herdConfig } from './herd-bots.js';
import { GOOD, JUNIT, NIGHTLY } from './run-files.js';

/** SHOTS_BOTS: how many bots the herd has. */
const BOTS = Number(process.env['SHOTS_BOTS'] ?? 300);
/** Lines per second of all bots. */
const LINES = 300;

const MANY_LABELS = ['team', 'region', 'stage', 'owner', 'game', 'shift', 'tier', 'since'];

/** Typical log lines of bots. */
const CHATTER: [text: string, level?: string][] = [
  ['GET \u001b[36m/inventory?page=2\u001b[0m \u001b[32m200\u001b[0m in 41 ms'],
  ['picked up 3 apples, 14 in the bag'],
  ['path to (41, 88) found, 67 steps'],
  ['the server asks for patience: 350 ms', 'warn'],
  ['traded 2 apples for a \u001b[33mgolden key\u001b[0m'],
  ['GET \u001b[36m/market/prices\u001b[0m \u001b[31m503\u001b[0m, trying again', 'warn'],
  ['saved, 1,204 bytes'],
  ['the gate at (12, 4) is locked and no key fits', 'error'],
];

const RULES = [
  { name: 'locked gates', query: 'level:error "is locked"', condition: 'count' },
  { name: 'no login', query: '"logged in"', condition: 'absence', severity: 'error' },
  { name: 'dry brushes', query: '"nearly dry"', condition: 'count', severity: 'info' },
  { name: 'many lines', query: '', condition: 'rate', threshold: 5000, enabled: false },
];

export interface LivingHerd {
  service: Service;
  end(): Promise<void>;
}

export async function startHerd(): Promise<LivingHerd> {
  const herd = herdBots(BOTS, 1);
  // A rate is a whole number: of many bots only some write.
  for (const [n, bot] of herd.entries()) {
    const isQuiet = n % Math.max(1, Math.floor(BOTS / LINES)) !== 0;
    if (bot.kind === 'synthetic' && isQuiet) bot['config'] = { events_per_second: 0 };
  }
  const { kinds, bots, ...config } = herdConfig([
    ...herd,
    { id: 'clumsy', kind: 'painter', config: { greeting: 'here I am' }, labels: { team: 'art' } },
    { id: 'counter-1', kind: 'counter', labels: { team: 'numbers' } },
    {
      id: 'a-bot-whose-id-is-as-long-as-ids-may-be-in-a-herd-of-many-teams1',
      kind: 'synthetic',
      config: { events_per_second: 0 },
      labels: Object.fromEntries(
        MANY_LABELS.map((name) => [name, `${name} of a bot with many labels`]),
      ),
    },
  ]);
  const painter = {
    id: 'painter-1',
    kind: 'painter',
    config: { greeting: 'good morning' },
    labels: { team: 'art' },
  };
  const service = await startForDashboard({
    config: { ...config, kinds, bots: [painter, ...bots], pin: { capacity: 100 } },
  });
  await fell(service, herd, 3);
  await populate(service);
  let isOver = false;
  // Silent bots would hide what happens while the page looks.
  const chatter = (async () => {
    for (let n = 0; !isOver; n++) {
      const [text, level] = CHATTER[(n * 5) % CHATTER.length] ?? [''];
      await print(service, text, level).catch(() => {});
      await delay(500);
    }
  })();
  return {
    service,
    async end() {
      isOver = true;
      await chatter;
      await service.stop();
    },
  };
}

export function startEmpty(): Promise<Service> {
  return startService();
}

export async function post(service: Service, target: string, body?: object): Promise<void> {
  await call(service, 'POST', target, body === undefined ? {} : { body });
}

function print(service: Service, text: string, level = 'info'): Promise<unknown> {
  return invoke(service, 'painter-1', 'print', { text, level });
}

async function populate(service: Service): Promise<void> {
  for (const rule of RULES) await post(service, '/api/rules', { ...rule, window_ms: 5000 });
  await post(service, '/api/rules', {
    name: 'stopped bots of the team atlas',
    query: 'status:stopped label:team=atlas',
    condition: 'bots',
    threshold: 2,
    severity: 'info',
  });
  for (let n = 0; n < 60; n++) {
    const [text, level] = CHATTER[(n * 5) % CHATTER.length] ?? [''];
    await print(service, text, level);
    await delay(60 + (n % 7) * 30);
  }
  for (let n = 0; n < 3; n++) {
    const why = 'Cannot read properties of undefined (reading "brush")';
    await invoke(service, 'clumsy', 'fall', { why });
    await delay(800);
  }
  await print(service, 'the brush is nearly dry', 'warn');
  await print(service, '\u001b[32mready\u001b[0m in \u001b[1;36m12 ms\u001b[0m');
  await print(service, 'no \u001b[31mhttp://paint.example/red\u001b[0m: refused', 'error');
  await print(service, '<b>not bold</b> <script>alert(1)</script>\ttabbed\nsecond line');
  for (const [what, amount] of [
    ['apples', 3],
    ['apples', 14],
    ['gold', 1_234_567.25],
    ['distance', 0.000_012],
  ]) {
    await invoke(service, 'painter-1', 'measure', { what, amount });
    await delay(200);
  }
  await invoke(service, 'painter-1', 'show', { name: 'canvas', value: 'blue, 40 %' });
  await post(service, '/api/tokens', {
    name: 'wall display',
    scopes: ['read'],
    labels: { team: 'atlas' },
  });
  await post(service, '/api/tokens', {
    name: 'deploy script',
    scopes: ['read', 'control', 'invoke'],
    expires_at_ms: Date.now() + 86_400_000,
  });
  const runs = path.join(service.dataDir, 'runs');
  mkdirSync(runs, { recursive: true });
  writeFileSync(path.join(runs, 'good.ndjson'), GOOD.text);
  writeFileSync(path.join(runs, 'nightly.ndjson'), NIGHTLY.text);
  writeFileSync(path.join(runs, 'nightly.xml'), JUNIT.text);
}
