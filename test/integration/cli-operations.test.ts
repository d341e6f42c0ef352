// Operations from the command line: their pace, their bar, Ctrl-C, and bots that are created from a file.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { DroverClient, type Operation, type OperationBot } from '../../src/client/index.js';
import { expectFailure, startCliHere, startOperator } from '../harness/cli.js';

const { home, env, drover, done } = await startOperator({ config: { hosts: { count: 1 } } });
const client = new DroverClient({ url: env['DROVER_URL'] ?? '', token: env['DROVER_TOKEN'] });
const operations = (...flags: string[]) => ['operations', ...flags];
/** The second bot is not begun during a test. */
const SLOWLY = ['--parallel', '1', '--stagger', '1h'];

let serial = 0;
let ids: string[];

beforeEach(async () => {
  serial += 1;
  ids = [1, 2, 3].map((n) => `b${serial}-${n}`);
  const labels = { set: `s${serial}` };
  await client.bots.createMany(
    ids.map((id) => ({ id, kind: 'synthetic', desired: 'stopped', labels })),
  );
});

const ofSet = (): string[] => ['--label', `set=s${serial}`];
const newest = async (): Promise<Operation> => {
  const { operations: all } = await client.operations.list({ limit: 1 });
  return all[0] as Operation;
};
/** One that has begun with its first bot, and waits. */
async function begun(): Promise<Operation> {
  const line = await done(['bots', 'start', ...ofSet(), ...SLOWLY, '--no-wait']);
  const [id = ''] = line.split(' ');
  expect(line).toBe(`${id} start 3 bots\n`);
  await expect.poll(async () => (await client.operations.get(id)).counts.done).toBe(1);
  return client.operations.get(id);
}

it('several bots are one operation, with the pace of the flags', async () => {
  const flags = ['--parallel', '2', '--stagger', '5ms', '--max-failed', '7'];
  const lines = (await done(['bots', 'start', ...ids, ...flags])).trim().split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual(ids);
  expect(await newest()).toMatchObject({
    title: 'start 3 bots',
    state: 'done',
    options: { parallel: 2, stagger_ms: 5, max_failed: 7 },
  });
});

it('too many failures end it: each bot that was left out is named, and the exit code is 1', async () => {
  const flags = ['--parallel', '1', '--max-failed', '0'];
  const run = await drover(['bots', 'stop', 'nobody', ...ids, ...flags]);
  expect(run.code).toBe(EXIT.failed);
  expect(run.stderr).toContain('nobody: no bot "nobody"');
  for (const id of ids) expect(run.stderr).toContain(`${id}: skipped: failed: 1, max_failed: 0`);
  expect(run.stdout).toBe('');
});

it('a terminal shows a bar; after Ctrl-C the operation continues, and the command says how to reach it', async () => {
  const run = startCliHere(home, ['bots', 'start', ...ofSet(), ...SLOWLY], { env, terminal: 100 });
  await expect
    .poll(() => run.stderr())
    .toContain('[======>             ] start 3 bots: running, 1 of 3');
  await run.interrupt();
  const { code, stderr } = await run.ended;
  expect(code).toBe(EXIT.interrupted);
  const { id, state } = await newest();
  expect(state).toBe('running');
  expect(stderr).toContain(
    `the operation continues: drover operations watch ${id} follows it, drover operations cancel ${id} ends it`,
  );
  await done(operations('cancel', id));
});

it('an operation is listed, shown, paused, resumed, watched and canceled', async () => {
  const { id } = await begun();
  expect(await done(operations('pause', id))).toBe('start 3 bots: paused, 1 of 3\n');
  expect(await done(operations('resume', id))).toBe('start 3 bots: running, 1 of 3\n');
  const row = (await done(operations('list', '-n', '1'))).split('\n')[1];
  expect(row).toMatch(new RegExp(`^${id}  .* running  1/3 +0 +start 3 bots$`));
  const watched = startCliHere(home, operations('watch', id), { env });
  await client.operations.cancel(id);
  const end = await watched.ended;
  expect(end.code).toBe(EXIT.failed);
  expect(end.stdout).toMatch(/^start 3 bots: canceled \(canceled by .*\), 1 of 3, 2 skipped\n$/);
  const shown = await done(operations('show', id));
  expect(shown).toContain(`operation: ${id}\n`);
  expect(shown).toMatch(new RegExp(`^${ids[1]} skipped: canceled by `, 'm'));
  expect(shown).not.toContain(`${ids[0]} `);
  const { operation, bots } = JSON.parse(await done(operations('show', id, '--json'))) as {
    operation: Operation;
    bots: OperationBot[];
  };
  expect(operation.id).toBe(id);
  expect(bots.map((bot) => bot.id)).toEqual(ids);
  expectFailure(
    await drover(operations('cancel', id)),
    EXIT.failed,
    /is canceled: it cannot cancel/,
  );
  expectFailure(await drover(operations('show', 'none')), EXIT.not_found, /no operation "none"/);
});

it('a token without the scope read can act on many bots, and learns that it cannot follow them', async () => {
  const { token } = await client.tokens.create({ name: 'deploy', scopes: ['control'] });
  const own = { env: { ...env, DROVER_TOKEN: token } };
  const quick = await drover(['bots', 'stop', ...ids], own);
  expect(quick).toMatchObject({ code: 0, stdout: ids.map((id) => `${id} stopped\n`).join('') });
  const slow = await drover(['bots', 'start', ...ids, ...SLOWLY], own);
  expectFailure(slow, EXIT.not_allowed, /scope read to follow it; the operation continues: /);
  await client.operations.cancel((await newest()).id);
});

it('bots are created from a file or from standard input, all of them', async () => {
  const lines = [1, 2].map((n) => JSON.stringify({ id: `f${serial}-${n}`, kind: 'synthetic' }));
  const file = path.join(home, 'bots.ndjson');
  writeFileSync(file, lines.join('\n'));
  expect(await done(['bots', 'create', '--file', file])).toMatch(/^\S+ create 2 bots: done\n$/);
  expect((await client.bots.get(`f${serial}-1`)).desired).toBe('running');
  const more = { input: JSON.stringify({ id: `f${serial}-3`, kind: 'synthetic' }) };
  const json = await done(['bots', 'create', '--file', '-', '--json'], more);
  expect(JSON.parse(json)).toMatchObject({ type: 'create', counts: { done: 1 } });
});

it('wrong lines of a file are named one by one, and nothing is created', async () => {
  const file = path.join(home, 'bad.ndjson');
  const good = JSON.stringify({ id: `g${serial}`, kind: 'synthetic' });
  writeFileSync(file, [good, '{', good].join('\n'));
  const { code, stderr } = await drover(['bots', 'create', '--file', file]);
  expect(code).toBe(EXIT.usage);
  expect(stderr.trim().split('\n')).toEqual([
    'drover: line 2: the line is not valid JSON',
    `drover: line 3: line 1 has the id g${serial} too`,
    `drover: no bot was created: correct ${file} and create them again`,
  ]);
  await expect(client.bots.get(`g${serial}`)).rejects.toMatchObject({ status: 404 });
  expectFailure(
    await drover(['bots', 'create', '--file', '/nowhere']),
    EXIT.usage,
    /--file \/nowhere: ENOENT/,
  );
  expectFailure(
    await drover(['bots', 'create', 'x', '--file', file]),
    EXIT.usage,
    /--file has the bots: give no id and no --kind/,
  );
  expectFailure(
    await drover(['bots', 'create', 'x']),
    EXIT.usage,
    /give an id and --kind, or --file/,
  );
});
