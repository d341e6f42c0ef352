// The commands in docs/ for an operator, unchanged except for addresses and directories: localhost:8090 becomes another
// port, and /opt and /var lie below the reader's home.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CLI, commandsOf, docBlock, everyBlock, Reader, ROOT } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';

let reader: Reader;
beforeEach(async () => {
  reader = new Reader(await freePort());
});

it('docs/API.md: every request gets the documented response', async () => {
  const { pin } = await reader.serve();
  // Omitted there, as the page says at its start.
  reader.setCurl(`header = "Authorization: Bearer ${reader.env['TOKEN']}"`);
  for (const id of ['demo-1', 'demo-2', 'demo-3']) {
    await reader.run(`drover wait ${id} --status in_world`);
  }
  const wrong = pin === '000000' ? '111111' : '000000';
  const runs = path.join(reader.home, '.local/share/drover/runs');
  mkdirSync(runs);
  writeFileSync(path.join(runs, 'nightly.ndjson'), '{}\n');
  const [first, second] = [
    { id: 'load-5', kind: 'synthetic' },
    { id: 'load-6', kind: 'synthetic', config: { foo: 1 } },
  ];
  const lines = [first, second, first].map((bot) => JSON.stringify(bot));
  writeFileSync(path.join(reader.dir, 'bots.ndjson'), lines.join('\n'));
  let requests = 0;
  /** The operation that an earlier command has begun. */
  let operation = '';
  for (const { command, answer } of everyBlock('docs/API.md', 'console').flatMap(commandsOf)) {
    requests += 1;
    const mine = command
      .replace('132231', pin)
      .replace('000000', wrong)
      .replace('0mig4r9w0-5c1f0a2b', operation);
    if (answer.includes('429')) {
      await reader.run(`for n in {1..12}; do ${mine} >/dev/null; done`);
    }
    if (command.includes('Last-Event-ID')) {
      await followed(mine, answer);
      continue;
    }
    // The service may have started in any part of the first bucket.
    const expected = answer.replace(/(?<="scopes":\{)[^}]+/, '…');
    const said = (await reader.run(mine)).replaceAll('\r', '');
    [, operation = operation] = /"operation":\{"id":"([^"]+)"/.exec(said) ?? [];
    expectLooksLike(said, expected);
  }
  expect(requests).toBeGreaterThan(20);
}, 120_000);

/** Resumes from an existing event, and compares the output with the documented response. */
async function followed(command: string, answer: string): Promise<void> {
  const page = await reader.run('curl "http://localhost:8090/api/events?limit=1&event=log"');
  const [{ id }] = JSON.parse(page).events as [{ id: string }];
  const stream = reader.type(command.replace(/(?<=Last-Event-ID: )[^']+/, id));
  await stream.until(/^id: .*\nevent: log\ndata: .*\n\n/m);
  const [first = '', ...rest] = answer.replace(/^retry: .*\n/, '').split('\n\n');
  expectLooksLike(stream.shown(), /^retry: .*$/m.exec(answer)?.[0] ?? '');
  expect(rest).toEqual([]);
  expect(first).toMatch(/^id: .*\nevent: log\ndata: /);
  const [, next = ''] = /^id: (\S+)$/m.exec(stream.shown()) ?? [];
  expect(Number(next.split('-')[1])).toBe(Number(id.split('-')[1]) + 1);
}

it('docs/METRICS.md: a token for Prometheus', async () => {
  await reader.serve('--no-demo');
  const [made] = commandsOf(docBlock('docs/METRICS.md', '"name":"prometheus"'));
  const answer = await reader.run(made?.command ?? '');
  expectLooksLike(answer, made?.answer ?? '');
  const { token } = JSON.parse(answer) as { token: string };
  const scrape = 'curl http://localhost:8090/metrics -H "Authorization: Bearer $MADE"';
  expect(await reader.run(scrape, { MADE: token })).toContain('drover_build_info{');
});

it('docs/CLI.md and docs/BOTS.md: a kind is run alone, and in a unit test', async () => {
  reader.linkPackage();
  reader.write(docBlock('docs/BOTS.md', "kind: 'watcher'"));
  reader.write(docBlock('docs/BOTS.md', "from 'drover/bot-sdk/testing'"));
  expect(await reader.run(docBlock('docs/BOTS.md', 'node --test my-tests/watcher'))).toMatch(
    /^\W*pass 1$/m,
  );
  await reader.serve('--no-demo');
  // It requests the documented port.
  const own = (text: string): string => text.replace('8090/health', `${reader.port}/health`);
  // The lines of the bot and of its command come in any order.
  const sorted = (text: string): string =>
    text
      .replace(/\d\d:\d\d:\d\d\.\d{3}|\d+ms/g, '0')
      .replaceAll(`:${reader.port}/`, ':8090/')
      .trim()
      .split('\n')
      .sort()
      .join('\n');
  for (const { command, answer } of commandsOf(
    docBlock('docs/CLI.md', 'drover kinds test my-bots/'),
  )) {
    expect(sorted(await reader.run(own(command)))).toBe(sorted(answer));
  }
});

it('docs/CONFIGURATION.md and docs/DEPENDENCIES.md: the commands for a checkout', async () => {
  const [refused] = commandsOf(docBlock('docs/CONFIGURATION.md', 'DROVER_HTTP_PORT=http'));
  const said = await reader.run(
    `cd '${ROOT}'; unset DROVER_HTTP_HOST; ${refused?.command} || echo "code $?"`,
  );
  expectLooksLike(said, refused?.answer ?? '');
  expect(said).toContain('code 1\n');
  const [native] = commandsOf(docBlock('docs/DEPENDENCIES.md', 'isNativeAccelerationEnabled'));
  expectLooksLike(await reader.run(`cd '${ROOT}'; ${native?.command}`), native?.answer ?? '');
});

it('docs/OPERATIONS.md: a backup and its restore', async () => {
  const data = path.join(reader.home, 'data');
  const backups = path.join(reader.home, 'backup');
  mkdirSync(backups);
  const here = (text: string): string =>
    text.replaceAll('/var/lib/drover', data).replaceAll('/backup/', `${backups}/`);
  // The unit's service without systemd: started in the background and stopped with SIGTERM.
  const pid = path.join(reader.home, 'pid');
  reader.command(
    'systemctl',
    `case "$1" in
start) ${CLI} start --no-demo --data-dir '${data}' > '${reader.home}/log' 2>&1 & echo $! > '${pid}'; drover wait --timeout 60s ;;
stop) kill "$(cat '${pid}')"; while kill -0 "$(cat '${pid}')" 2>/dev/null; do sleep 0.1; done ;;
esac`,
  );
  await reader.run('systemctl start drover');
  await reader.run(`drover login --pin-file '${data}/pin.txt'`);
  await reader.run('drover bots create kept --kind synthetic');
  // The copy lags behind the store by up to 2 s.
  await reader.run(`until grep -qa kept '${data}/store.mdb.copy'; do sleep 0.1; done`);
  await reader.run(here(docBlock('docs/OPERATIONS.md', 'cp /var/lib/drover/store.mdb.copy')));
  await reader.run('drover bots create later --kind synthetic');
  const [file = ''] = readdirSync(backups);
  expect(file).toMatch(/^drover-\d{4}-\d\d-\d\d\.mdb$/);
  const restore = docBlock('docs/OPERATIONS.md', 'rm -f store.mdb-lock');
  await reader.run(here(restore).replace('drover-2026-11-21.mdb', file));
  const bots = await reader.run('drover bots list');
  expect(bots).toContain('kept');
  expect(bots).not.toContain('later');
  await reader.run('systemctl stop drover');
}, 120_000);
