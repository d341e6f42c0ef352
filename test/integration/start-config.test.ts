// Issue 2 "Bad input" and "Configuration": where settings come from, and starts that must fail before an engine runs.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { makeDir, removeDir, type ServiceOptions } from '../harness/service.js';
import { snapshotOf } from '../harness/shapes.js';
import { openStream } from '../harness/sse.js';
import {
  expectRefusal,
  type FailingStart,
  failingIn,
  refusedConfigIn,
  startOwn,
} from '../harness/starts.js';

/** The build: the sources are at a different depth below the defaults that they read. */
const BUILD = new URL('../../dist/src/main/load-config.js', import.meta.url).href;

let base: string;
let failing: FailingStart;
let refused: FailingStart;
beforeEach((context) => {
  const dir = makeDir();
  base = dir;
  failing = failingIn(dir);
  refused = refusedConfigIn(dir);
  // Runs after the services that the test registers later have stopped.
  context.onTestFinished(() => removeDir(dir));
});

describe('a start that must fail', () => {
  it('Bad input: a data directory that is not writable', async () => {
    const file = path.join(base, 'a-file');
    writeFileSync(file, '');
    const dir = path.join(file, 'data');
    expectRefusal(await failing(['--data-dir', dir]), 'a-file');
    expectRefusal(await failing(['--data-dir', file]), 'a-file');
  });

  it('Bad input: an unknown key in the configuration, at any level', async () => {
    expectRefusal(await refused([], { no_such_key: 1 }), 'no_such_key');
    expectRefusal(await refused([], { http: { no_such_key: 1 } }), 'no_such_key');
    expectRefusal(await refused([], { http: { Port: 1 } }), 'Port');
  });

  it('Bad input: a wrong type in the configuration', async () => {
    expectRefusal(await refused([], { http: { max_body_bytes: 'many' } }), 'max_body_bytes');
    expectRefusal(await refused([], { http: [] }), 'http');
    expectRefusal(await refused([], { pin: { capacity: 1.5 } }), 'capacity');
    expectRefusal(await refused([], { pin: { capacity: -1 } }), 'capacity');
    expectRefusal(await refused([], { data_dir: 7 }), 'data_dir');
    expectRefusal(await refused([], { bots: {} }), 'bots');
    expectRefusal(await refused([], { demo: { enabled: 'yes please' } }), 'enabled');
  });

  it('Bad input: shutdown times that exceed the total', async () => {
    const shutdown = { bots_ms: 5000, streams_ms: 2501 };
    expectRefusal(await refused([], { shutdown }), /shutdown\.bots_ms \(5000\).+ 7500 at most/);
    const env = { DROVER_SHUTDOWN_BOTS_MS: '7000' };
    expectRefusal(await refused([], undefined, env), /shutdown\.streams_ms \(2500\)/);
    expectRefusal(await refused([], { shutdown: { streams_ms: 7501 } }), 'streams_ms');
  });

  it('Bad input: a port out of range', async () => {
    expectRefusal(await refused(['--port', '70000']), /port/);
    // 2: a value that is not a port number is wrong usage (docs/CLI.md).
    expectRefusal(await refused(['--port', '-1']), /port/, 2);
    expectRefusal(await refused(['--port', 'many']), /port/, 2);
  });

  it('Bad input: a wrong type or an unknown key in the environment', async () => {
    expectRefusal(
      await refused([], undefined, { DROVER_PIN_CAPACITY: 'many' }),
      /PIN_CAPACITY|pin.capacity/,
    );
    expectRefusal(await refused([], undefined, { DROVER_NO_SUCH_KEY: '1' }), 'NO_SUCH_KEY');
  });

  it('Bad input: a configuration that is not JSON, not an object, or missing', async () => {
    expectRefusal(await refused([], '{"http": {'), 'config.json');
    expectRefusal(await refused([], ''), 'config.json');
    expectRefusal(await refused([], '[]'), /config/);
    expectRefusal(await refused([], 'null'), /config/);
    expectRefusal(await refused(['--config', path.join(base, 'missing.json')]), 'missing.json');
  });

  it('Bad input: `__proto__` in the configuration is an unknown key', async () => {
    expectRefusal(await refused([], '{"__proto__": {"http": {"port": 1}}}'), '__proto__');
  });

  it('Bad input: an unknown bot kind', async () => {
    expectRefusal(await failing([], { bots: [{ id: 'a', kind: 'no_such_kind' }] }), 'no_such_kind');
  });

  it('Bad input: a bot config that its kind rejects, and a duplicate id', async () => {
    const config = { events_per_second: 1, message_bytes: 10 };
    const wrong = { id: 'a', kind: 'synthetic', config: { ...config, events_per_second: 'fast' } };
    expectRefusal(await failing([], { bots: [wrong] }), 'events_per_second');
    const twice = { id: 'twin', kind: 'synthetic', config };
    expectRefusal(await failing([], { bots: [twice, twice] }), 'twin');
  });
});

describe('configuration', () => {
  it('Configuration: environment overrides file, and a flag overrides both', async () => {
    const config = { data_dir: path.join(base, 'from-file') };
    const env = { DROVER_DATA_DIR: path.join(base, 'from-env') };
    const file = path.join(base, 'config.json');
    writeFileSync(file, JSON.stringify(config));
    const { loadConfig } = (await import(BUILD)) as typeof import('../../src/main/load-config.js');
    expect(loadConfig(file, {}, {}).data_dir).toBe(config.data_dir);
    expect(loadConfig(file, env, {}).data_dir).toBe(env.DROVER_DATA_DIR);
    // All three together, on the service itself.
    const byFlag = await startOwn({ dataDir: path.join(base, 'from-flag'), config, env });
    expect(byFlag.pinPath).toBe(path.join(base, 'from-flag', 'pin.txt'));
  });

  it('Configuration: a file may begin with a byte order mark', async () => {
    const file = path.join(base, 'marked.json');
    writeFileSync(file, `\ufeff${JSON.stringify({ demo: { enabled: false } })}`);
    const service = await startOwn({ demo: true, args: ['--config', file] });
    expect((await call(service, 'GET', '/api/bots')).json).toEqual({ bots: [] });
  });

  it('Configuration: a key from the environment reaches the service', async () => {
    const env = { DROVER_PIN_CAPACITY: '2', DROVER_PIN_REFILL_PER_MINUTE: '1' };
    const service = await startOwn({ env });
    expectError(await tryPin(service, 'a'), 401, 'wrong pin');
    expectError(await tryPin(service, 'b'), 401, 'wrong pin');
    expectError(await tryPin(service, 'c'), 429);
  });

  it('Configuration: its bots exist from the start, with their labels', async () => {
    const config = { events_per_second: 1, message_bytes: 10 };
    const bots = [
      { id: 'one', kind: 'synthetic', config, labels: { team: 'red' } },
      { id: 'two', kind: 'synthetic', config },
    ];
    const service = await startOwn({ config: { bots } });
    await expect
      .poll(async () => (await call(service, 'GET', '/api/bots')).json)
      .toEqual({
        bots: [
          expect.objectContaining({ id: 'one', kind: 'synthetic', labels: { team: 'red' } }),
          expect.objectContaining({ id: 'two', kind: 'synthetic', labels: {} }),
        ],
      });
  });

  it('Configuration: demo.enabled and demo.bots control the demo bots, --no-demo overrides both', async () => {
    const ids = async (options: ServiceOptions): Promise<string[]> => {
      const service = await startOwn(options);
      const stream = await openStream(`${service.url}/events`, { token: await service.token() });
      // A stop waits for the start to finish, so the complete stream includes every bot.
      await service.stop();
      await stream.ended;
      return [...new Set(stream.frames.flatMap((frame) => snapshotOf(frame)?.id ?? []))].sort();
    };
    const five = ['demo-1', 'demo-2', 'demo-3', 'demo-4', 'demo-5'];
    expect(await ids({ demo: true, config: { demo: { bots: 5 } } })).toEqual(five);
    expect(await ids({ demo: true, config: { demo: { enabled: false } } })).toEqual([]);
    expect(await ids({ config: { demo: { enabled: true, bots: 5 } } })).toEqual([]);
  });

  it('Configuration: --bot-hosts sets the number of hosts for bots', async () => {
    const service = await startOwn({ demo: true, args: ['--bot-hosts', '2'] });
    await expect
      .poll(async () => {
        const { bots } = (await call(service, 'GET', '/api/bots')).json as {
          bots: { host: number | null }[];
        };
        return new Set(bots.map((bot) => bot.host).filter((host) => host !== null)).size;
      })
      .toBe(2);
  });
});
