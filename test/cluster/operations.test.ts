// docs/CLUSTER-OPERATIONS.md, typed on three machines word for word, from top to bottom. A machine is a directory with its own commands;
// addresses and paths are replaced in one place.

import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksOf, CLI, docBlock, everyBlock, Typed } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { NatsServer } from '../harness/nats.js';
import { requireTool } from '../harness/needs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir } from '../harness/service.js';

const PAGE = 'docs/CLUSTER-OPERATIONS.md';
const NAMES = ['h1', 'h2', 'h3'];
const ALL_RUN = /(?:load-\d .* running .*\n){3}/;
const ALL_LIVE = /^(?:h\d +live .*\n){3}/m;
/** What `systemctl` does with the unit of docs/systemd and its drop-in. */
const SYSTEMCTL = `
unit=$MACHINE/etc/systemd/system/drover.service.d/key.conf
log=$MACHINE/log
start() {
  rm -f "$MACHINE/credentials/"* "$log"
  [ ! -f "$unit" ] || while IFS= read -r line; do
    case $line in
      LoadCredential=*) IFS=: read -r name file <<< "\${line#*=}"; cp "$file" "$MACHINE/credentials/$name" ;;
      Environment=*) line=\${line#*=}; export "\${line//%d/$MACHINE/credentials}" ;;
    esac
  done < "$unit"
  setsid ${CLI} start --config "$MACHINE/etc/drover/config.json" > "$log" 2>&1 &
  echo $! > "$MACHINE/pid"
  until grep -q '^engine: ' "$log"; do
    kill -0 "$(cat "$MACHINE/pid")" 2> /dev/null || { cat "$log"; exit 1; }
    sleep 0.1
  done
}
stop() {
  [ -f "$MACHINE/pid" ] || return 0
  kill "$(cat "$MACHINE/pid")" 2> /dev/null || true
  while kill -0 "$(cat "$MACHINE/pid")" 2> /dev/null; do sleep 0.1; done
  rm "$MACHINE/pid"
}
case "$*" in
  daemon-reload) ;;
  'start drover' | 'enable --now drover') start ;;
  'stop drover' | 'disable --now drover') stop ;;
  'restart drover') stop; start ;;
  *) echo "systemctl $*: not one of this model" >&2; exit 1 ;;
esac`;

class Machine {
  readonly name: string;
  readonly root: string;
  readonly port: number;
  readonly #env: NodeJS.ProcessEnv;

  constructor(all: string, name: string, port: number) {
    this.name = name;
    this.root = path.join(all, name);
    this.port = port;
    for (const dir of ['bin', 'etc/drover', 'backup', 'tmp', 'credentials']) {
      mkdirSync(path.join(this.root, dir), { recursive: true });
    }
    mkdirSync(path.join(this.root, 'var/lib/drover'), { recursive: true, mode: 0o700 });
    const inherited = Object.entries(process.env).filter(
      ([variable]) => !/^(npm_|DROVER_|XDG_|NODE_|VITEST)/i.test(variable),
    );
    this.#env = {
      ...Object.fromEntries(inherited),
      PATH: `${this.root}/bin:${path.dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: this.root,
      MACHINE: this.root,
      DROVER_HTTP_PORT: String(port),
      DROVER_HTTP_HOST: '127.0.0.1',
      DROVER_DATA_DIR: path.join(this.root, 'var/lib/drover'),
      DROVER_URL: `http://127.0.0.1:${port}`,
      // A node that is stopped is not waited for; the page does not say how long that takes.
      DROVER_CLUSTER_LEASE_MS: '4000',
    };
    this.#command('drover', `exec ${CLI} "$@"`);
    this.#command('hostname', `echo ${name}`);
    this.#command('systemctl', SYSTEMCTL);
    // The other machines are beside this one, and the paths name theirs.
    this.#command('ssh', 'shift; exec "$@"');
    this.#command('scp', 'exec cp "$@"');
  }

  #command(name: string, script: string): void {
    const file = path.join(this.root, 'bin', name);
    writeFileSync(file, `#!/bin/bash\nset -eu\n${script}\n`);
    chmodSync(file, 0o755);
  }

  /** Resolves with what the lines print. @throws AssertionError when one fails. */
  async run(lines: string): Promise<string> {
    const typed = this.type(lines);
    expect(await typed.ended, `${this.name}: ${lines}\n${typed.shown()}`).toBe(0);
    return typed.shown();
  }

  type(lines: string): Typed {
    return new Typed(lines, this.root, this.#env);
  }

  kill(): void {
    const file = path.join(this.root, 'pid');
    if (existsSync(file)) spawnSync('kill', ['-9', readFileSync(file, 'utf8').trim()]);
    rmSync(file, { force: true });
  }
}

let dir: string;
let nats: NatsServer;
let machines: Map<string, Machine>;
beforeAll(async () => {
  dir = makeDir();
  nats = await NatsServer.start();
  const made = NAMES.map(
    async (name): Promise<[string, Machine]> => [name, new Machine(dir, name, await freePort())],
  );
  machines = new Map(await Promise.all(made));
});
afterAll(async () => {
  for (const machine of machines.values()) machine.kill();
  await nats.stop();
  removeDir(dir);
});

const on = (name: string): Machine => machines.get(name) as Machine;

/** The page's text for a machine of this test. */
function here(text: string, machine: Machine): string {
  const line = (one: string): string => {
    const [, other] = /^ssh (h\d) /.exec(one) ?? [];
    const local = other === undefined ? machine : on(other);
    return one
      .replaceAll(/\b10\.0\.0\.(\d):8090\b/g, (_, n) => `127.0.0.1:${on(`h${n}`).port}`)
      .replaceAll('nats://10.0.0.1:4222', nats.url)
      .replaceAll(
        /(?:\b(h\d):|(?<=[\s:=]))\/(etc|var|backup|tmp)\b/g,
        (_, name, top) => `${name === undefined ? local.root : on(name).root}/${top}`,
      );
  };
  return text.split('\n').map(line).join('\n');
}

/** Blocks of commands in the order of the page, with the machine that the first line names. */
const left = everyBlock('docs/CLUSTER-OPERATIONS.md', 'sh');

/** Types the next block, which has to contain these words. @param as another machine than that of its first line. */
async function next(words: string, as?: string): Promise<string> {
  const block = left.shift() ?? '';
  expect(block).toContain(words);
  const [, name = ''] = /^# on (h\d|every node)\n/.exec(block) ?? [];
  const machine = on(as ?? name);
  const shown = await machine.run(here(block, machine));
  const answer = answerOf(block);
  if (answer !== null) expectLooksLike(plain(shown), plain(answer));
  return shown;
}

/** The block after it, if that is output. */
function answerOf(block: string): string | null {
  const blocks = blocksOf(PAGE);
  const after = blocks[blocks.findIndex(({ text }) => text === block) + 1];
  return after && ['text', 'json'].includes(after.language) ? after.text : null;
}

/** The widths of columns depend on what is in them. */
const plain = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/ \n/g, '\n');

async function until(machine: string, lines: string, shows: RegExp): Promise<string> {
  let shown = '';
  await expect
    .poll(async () => {
      const typed = on(machine).type(lines);
      await typed.ended;
      shown = typed.shown();
      return shown;
    })
    .toMatch(shows);
  return shown;
}

const bots = async (machine: string): Promise<string[]> =>
  (await on(machine).run('drover bots list --json'))
    .split(/(?<=\n)(?=\[)/)
    .flatMap((text) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id))
    .sort();

it('docs/CLUSTER-OPERATIONS.md, from top to bottom', async () => {
  // A service with three bots, a token and a journal.
  const [h1] = [on('h1')];
  writeFileSync(path.join(h1.root, 'etc/drover/config.json'), '{"demo":{"enabled":false}}');
  const talks = `--kind synthetic --config '{"events_per_second":5}'`;
  await h1.run('systemctl start drover');
  await h1.run(`drover login --pin-file "$DROVER_DATA_DIR/pin.txt"
for bot in load-1 load-2 load-3; do drover bots create $bot ${talks}; done
drover tokens create reader --scope read`);
  const token = (await h1.run('drover tokens create dashboard --scope read')).trim();
  await until('h1', 'drover logs -n 3 --json', /synthetic|load-1/);
  await until('h1', 'ls "$DROVER_DATA_DIR"', /store\.mdb\.copy/);
  const [before = ''] = (await h1.run('drover logs -n 1 --bot load-1 --json')).split('\n');

  await next('openssl rand');
  await next('drover logs -n 5');
  expect(await bots('h1')).toEqual(['load-1', 'load-2', 'load-3']);
  const { data } = JSON.parse(before) as { data: { timestamp_ms: number; message: string } };
  const past = await h1.run(`drover logs -n 5000 --json --bot load-1 --since 1h`);
  expect(past).toContain(JSON.stringify(data.message));

  const copying = left[0] ?? '';
  await next('scp /etc/drover/cluster.key');
  const starting = left[0] ?? '';
  await next('drover login --pin-file');
  // "The same for `h3`."
  await h1.run(here(copying.replaceAll('h2', 'h3'), h1));
  await on('h3').run(here(starting, on('h3')));
  await until('h1', 'drover nodes', /^h3 +live/m);
  await next('drover nodes rebalance');
  await until('h1', 'drover bots list --node h3', /load-/);
  // Of any node.
  for (const name of NAMES) {
    const status = await on(name).run(
      `curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' $DROVER_URL/api/bots`,
    );
    expect(status).toBe('200');
  }

  await until('h1', 'drover bots move load-1 --to h3', / on h3/);
  await next('drover bots move load-1 --to h2');

  await next('drover nodes drain h2');
  await next('drover nodes uncordon h2');

  await next('drover nodes drain h3');
  // A node that stops gives its lease back; the others see that a moment later.
  await until('h1', 'drover nodes', /^h3 +lost/m);
  await next('drover nodes rm h3');
  const refused = on('h3').type('systemctl start drover');
  expect(await refused.ended).toBe(1);
  expect(refused.shown()).toContain('the node h3 was removed from the cluster drover');
  rmSync(path.join(on('h3').root, 'pid'), { force: true });
  await next('rm /var/lib/drover/cluster-node.json');
  await until('h1', 'drover nodes', /^h3 +live/m);

  await next('cp /var/lib/drover/store.mdb.copy');
  await on('h2').run('cp "$DROVER_DATA_DIR/store.mdb.copy" backup/h2.mdb');
  await next('cp /backup/h2.mdb store.mdb');
  await until('h1', 'drover nodes', /^h2 +live/m);
  await until('h1', 'drover bots list', ALL_RUN);
  for (const name of NAMES) {
    await on(name).run(`cp "$DROVER_DATA_DIR/store.mdb.copy" backup/${name}.mdb`);
  }
  const ids = await bots('h1');
  await h1.run('drover bots rm load-3');
  const stopping = left[0] ?? '';
  await next('drover-restored', 'h1');
  for (const name of ['h2', 'h3']) await on(name).run(here(stopping, on(name)));
  await next('systemctl start drover', 'h1');
  for (const name of ['h2', 'h3']) await on(name).run('systemctl start drover');
  await until('h1', 'drover nodes', ALL_LIVE);
  await expect.poll(() => bots('h1')).toEqual(ids);

  // NATS has lost everything.
  await nats.kill();
  rmSync(path.join(nats.dir, 'jetstream'), { recursive: true, force: true });
  await nats.run();
  await until('h1', 'drover nodes', ALL_LIVE);
  const shown = await next('drover tokens list');
  expect(shown).toMatch(/dashboard/);
  await expect.poll(() => bots('h1')).toEqual(ids);
  await until('h1', 'drover bots list', ALL_RUN);

  await next('curl -s http://10.0.0.1:8090/ready');
  expect(left).toEqual([]);
}, 600_000);

it('HAProxy accepts the configuration of the page', () => {
  requireTool('haproxy', 'haproxy');
  const file = path.join(dir, 'haproxy.cfg');
  writeFileSync(file, docBlock('docs/CLUSTER-OPERATIONS.md', 'backend drover'));
  const checked = spawnSync('haproxy', ['-c', '-f', file], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  expect(checked.status, checked.stderr).toBe(0);
});
