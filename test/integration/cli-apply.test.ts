// `drover apply`, `drover export` and `drover start --fleet`, on built services.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { DroverClient, type FleetPlan } from '../../src/client/index.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { startOperator } from '../harness/cli.js';
import { commandsOf, docBlock, Reader } from '../harness/docs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service } from '../harness/service.js';
import { expectRefusal, failingIn, startOwn } from '../harness/starts.js';

const { home, env, drover, done } = await startOperator({
  config: { kinds: [FIXTURE_KINDS], hosts: { count: 1 } },
});
const client = new DroverClient({ url: env['DROVER_URL'] ?? '', token: env['DROVER_TOKEN'] });

function write(name: string, text: string): string {
  const file = path.join(home, name);
  writeFileSync(file, text);
  return file;
}
const QUIET = 'kind: synthetic, config: {events_per_second: 0}';
const ids = async (): Promise<string[]> => (await client.bots.list()).map(({ id }) => id).sort();

afterEach(async () => {
  const all = await ids();
  if (all.length > 0) await client.bots.act({ action: 'delete', ids: all });
});

describe('drover apply', () => {
  it('shows what changes, changes it once, and exits with 2 where a dry run has differences', async () => {
    const file = write('web.yaml', `name: web\nbots:\n  - {id: "a-{n}", count: 2, ${QUIET}}\n`);
    const dry = await drover(['apply', file, '--dry-run']);
    expect(dry).toEqual({
      code: 2,
      stdout: '+ a-1 (synthetic)\n+ a-2 (synthetic)\nfleet web: 2 to create, 0 unchanged\n',
      stderr: '',
    });
    expect(await ids()).toEqual([]);
    expect(await done(['apply', file])).toBe(
      '+ a-1 (synthetic)\n+ a-2 (synthetic)\nfleet web: 2 created, 0 unchanged\n',
    );
    expect(await done(['apply', file])).toBe('fleet web: 2 unchanged\n');
    expect(await done(['apply', file, '--dry-run'])).toBe('fleet web: 2 unchanged\n');
    write('web.yaml', `name: web\nbots:\n  - {id: a-1, ${QUIET}, labels: {team: a}}\n`);
    expect(await done(['apply', file])).toBe(
      '~ a-1 (synthetic)\n    labels.team: none -> "a"\nfleet web: 1 changed, 0 unchanged, 1 not in the file (--prune deletes them)\n',
    );
    expect(await done(['apply', file, '--prune', '-y'])).toBe(
      '- a-2 (synthetic)\nfleet web: 1 deleted, 1 unchanged\n',
    );
  });

  it('prints the plan as JSON, with colours only where they are wanted', async () => {
    const file = write('web.yaml', `name: web\nbots: [{id: a, ${QUIET}}]\n`);
    const { code, stdout } = await drover(['apply', file, '--dry-run', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      fleet: 'web',
      steps: [{ id: 'a', kind: 'synthetic', action: 'create' }],
      unchanged: 0,
      unlisted: [],
    });
    const forced = { env: { FORCE_COLOR: '1' } };
    const coloured = await drover(['apply', file, '--dry-run'], forced);
    expect(coloured.stdout).toContain('\u001b[32m+ a (synthetic)\u001b[0m\n');
    const plain = await drover(['apply', file, '--dry-run', '--no-color'], forced);
    expect(plain.stdout).not.toContain('\u001b');
    const applied = JSON.parse(await done(['apply', file, '--json'])) as FleetPlan;
    expect(applied.steps).toHaveLength(1);
    expect(JSON.parse(await done(['apply', file, '--json']))).toMatchObject({ unchanged: 1 });
  });

  it('tells each fault of the file with its place, and exits with 1', async () => {
    const file = write(
      'bad.yaml',
      'name: web\nbots:\n  - id: a\n    kind: synthetic\n    colour: red\n  - id: b\n    count: 1e9\n',
    );
    const missing = path.join(home, 'nowhere.yaml');
    expect(await drover(['apply', file])).toEqual({
      code: EXIT.failed,
      stdout: '',
      stderr: `drover: ${file}:5:5: unknown key bots[0].colour\ndrover: ${file}:7:12: bots[1].count must be <= 10000\n`,
    });
    const absent = await drover(['apply', missing]);
    expect(absent.code).toBe(EXIT.failed);
    expect(absent.stderr).toMatch(/nowhere\.yaml:1:1: the file cannot be read: ENOENT/);
  });

  it('tells the place of a bot that the service refuses, and changes nothing', async () => {
    await client.applyFleet('other', { bots: [{ id: 'taken', kind: 'faulty' }] as never });
    const bots = [
      `  - {id: a, ${QUIET}}`,
      '  - {id: b, kind: synthetic, config: {events_per_second: many}}',
      '  - {id: taken, kind: faulty}',
    ];
    const file = write('web.yaml', `name: web\nbots:\n${bots.join('\n')}\n`);
    for (const flags of [['--dry-run'], []]) {
      const { code, stderr } = await drover(['apply', file, ...flags]);
      expect(code).toBe(EXIT.failed);
      expect(stderr.split('\n')).toEqual([
        `drover: ${file}:4:5: bot b: config.events_per_second must be integer`,
        expect.stringContaining(`${file}:5:5: bot taken: the bot belongs to the fleet other`),
        '',
      ]);
    }
    expect(await ids()).toEqual(['taken']);
  });

  it('reads standard input, variables and files', async () => {
    write('secret.txt', 'from-the-file\r\n');
    const config = '{host: h, password: {$env: FLEET_PASSWORD}, proxy: {$file: secret.txt}}';
    const input = `{"name": "web", "bots": [{"id": "k", "kind": "keeper", "config": ${config}}]}`;
    const refused = await drover(['apply', '-'], { input });
    expect(refused).toMatchObject({
      code: EXIT.failed,
      stderr: expect.stringContaining('<stdin>:1:86: the variable FLEET_PASSWORD is not set'),
    });
    await done(['apply', '-'], { input, env: { FLEET_PASSWORD: 'from-the-variable' } });
    const { secrets } = await client.bots.config('k');
    expect(secrets).toEqual(['password', 'proxy']);
    expect(await client.invoke('k', 'say', { text: 'is from-the-file here?' })).toBeTruthy();
    const shown = await done(['apply', '-', '--dry-run'], {
      input,
      env: { FLEET_PASSWORD: 'from-the-variable' },
    });
    expect(shown).toBe('fleet web: 1 unchanged\n');
    const other = await drover(['apply', '-', '--dry-run'], {
      input,
      env: { FLEET_PASSWORD: 'another' },
    });
    expect(other.stdout).toBe(
      '~ k (keeper)\n    config.password: changed (secret)\nfleet web: 1 to change, 0 unchanged\n',
    );
  });

  it('starts a bot that has failed with its new configuration', async () => {
    const fleet = (deaf: boolean): string =>
      `name: web\nbots: [{id: f, kind: faulty, restart: {policy: never}, config: {deaf: ${deaf}}}]\n`;
    await done(['apply', write('web.yaml', fleet(false))]);
    await done(['wait', 'f', '--status', 'online']);
    await client.invoke('f', 'cause', { fault: 'timer' });
    await expect.poll(async () => (await client.bots.get('f')).status).toBe('failed');
    await done(['apply', write('web.yaml', fleet(true))]);
    await done(['wait', 'f', '--status', 'online']);
  });
});

describe('drover export', () => {
  it('writes what apply accepts, which changes nothing', async () => {
    const config = { host: 'h', password: 'hunter2', greeting: 'a: #b\n"{n}"' };
    await client.bots.create({ id: 'k', kind: 'keeper', config, labels: { v: '1.10', on: 'yes' } });
    await client.bots.create({ id: '042', kind: 'synthetic', desired: 'stopped' });
    const { code, stdout, stderr } = await drover(['export', '--name', 'web']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'drover: secrets cannot be read; before drover apply set the variable K_PASSWORD\n',
    });
    expect(stdout).toContain('$env: K_PASSWORD');
    const secret = { K_PASSWORD: 'hunter2' };
    const adopted = await drover(['apply', '-'], { input: stdout, env: secret });
    expect(adopted.stdout).toBe(
      '~ 042 (synthetic), belonged to no fleet\n~ k (keeper), belonged to no fleet\nfleet web: 2 changed, 0 unchanged\n',
    );
    for (const flags of [[], ['--json']]) {
      const again = await drover(['export', ...flags]);
      expect(await done(['apply', '-', '--dry-run'], { input: again.stdout, env: secret })).toBe(
        'fleet web: 2 unchanged\n',
      );
    }
    expect((await drover(['export', '--kind', 'synthetic'])).stdout).toBe(
      'name: web\nbots:\n  - id: "042"\n    kind: synthetic\n    desired: stopped\n',
    );
  });

  it('refuses bots of several fleets, and none', async () => {
    await client.applyFleet('one', { bots: [{ id: 'a', kind: 'faulty' }] as never });
    await client.applyFleet('two', { bots: [{ id: 'b', kind: 'faulty' }] as never });
    const { code, stderr } = await drover(['export']);
    expect(code).toBe(EXIT.failed);
    expect(stderr).toMatch(/belong to several fleets \(one, two\): select .* --query fleet:one/);
    expect(await done(['export', '--query', 'fleet:two'])).toMatch(/^name: two\n/);
    expect((await drover(['export', '--kind', 'none'])).code).toBe(EXIT.not_found);
  });
});

describe('drover start --fleet', () => {
  let dir: string;
  beforeAll(() => {
    dir = makeDir();
  });
  afterAll(() => removeDir(dir));
  const save = (text: string): string => {
    const file = path.join(dir, 'kept.yaml');
    writeFileSync(file, text);
    return file;
  };
  const botsOf = async (service: Service) => {
    const all = await new DroverClient({
      url: service.url,
      token: await service.token(),
    }).bots.list();
    return all.map(({ id, desired }) => `${id} ${desired}`).sort();
  };

  it('keeps to the file at each start, and reads it again at SIGHUP', async () => {
    const dataDir = path.join(dir, 'data');
    const args = ['--fleet', save(`name: kept\nbots: [{id: "a-{n}", count: 2, ${QUIET}}]\n`)];
    const first = await startOwn({ args, dataDir });
    await expect.poll(() => botsOf(first)).toEqual(['a-1 running', 'a-2 running']);
    save(`name: kept\nbots: [{id: a-2, ${QUIET}, desired: stopped}, {id: b, ${QUIET}}]\n`);
    first.child.kill('SIGHUP');
    await expect.poll(() => botsOf(first)).toEqual(['a-2 stopped', 'b running']);
    save('name: kept\nbots: [{id: c, kind: nothing}]\n');
    first.child.kill('SIGHUP');
    await expect
      .poll(() => first.stderr())
      .toMatch(/warning: nothing was reloaded: \S+kept\.yaml:2:8: bot c: unknown kind "nothing"/);
    save('name: kept\nbots: [}\n');
    first.child.kill('SIGHUP');
    await expect.poll(() => first.stderr()).toMatch(/kept\.yaml:2:8: /);
    expect(await botsOf(first)).toEqual(['a-2 stopped', 'b running']);
    await first.stop();
    save(`name: kept\nbots: [{id: a-2, ${QUIET}}, {id: d, ${QUIET}}]\n`);
    const second = await startOwn({ args, dataDir });
    await expect.poll(() => botsOf(second)).toEqual(['a-2 running', 'd running']);
  });

  it('does not start with a file that has a fault, before it opens a socket', async () => {
    const failing = failingIn(path.join(dir));
    const fleet = (text: string): string[] => ['--fleet', save(text)];
    expectRefusal(
      await failing(fleet('name: x\nbots: [{id: a}]\n')),
      /kept\.yaml:2:8: the bot has/,
    );
    expectRefusal(
      await failing(fleet('name: x\nbots:\n  - {id: a, kind: nothing}\n')),
      /kept\.yaml:3:5: bot a: unknown kind "nothing"/,
    );
    expectRefusal(
      await failing(['--fleet', path.join(dir, 'none.yaml')]),
      /none\.yaml:1:1: the file/,
    );
    const servers = ['--cluster-servers', 'nats://127.0.0.1:1'];
    expectRefusal(
      await failing([...fleet('name: x\nbots: []\n'), ...servers]),
      'fleet: a node of a cluster cannot apply fleet files yet',
    );
  });
});

describe('docs/FLEET.md', () => {
  it('its files and commands', async () => {
    const reader = new Reader(await freePort());
    reader.write(docBlock('docs/FLEET.md', '# fleet.yaml'));
    reader.write(docBlock('docs/FLEET.md', '# irc.yaml'));
    const { service } = await reader.serve('--no-demo');
    const first = docBlock('docs/FLEET.md', 'drover apply fleet.yaml --dry-run');
    const drift = docBlock('docs/FLEET.md', 'drover bots update busy');
    for (const block of [first, drift]) {
      for (const { command, answer } of commandsOf(block)) {
        const age = (text: string): string =>
          text.replace(/ +/g, ' ').replace(/ \d+(\.\d+)?m?s 0 /, ' 1.2s 0 ');
        expect(age(await reader.run(command))).toBe(age(answer));
      }
    }
    await reader.run('drover apply irc.yaml', { IRC_PASSWORD: 'a-password' });
    expect(await reader.run('drover bots show anna')).toMatch('"fleet": "irc"');
    await service.interrupt();
  });
});
