// Issue 2 "Bad input" and "Configuration": where settings come from, and starts that must fail before an engine runs.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openDataDir } from '../../src/main/environment/data-dir.js';
import { StartupError } from '../../src/shared/errors.js';
import { call } from '../harness/api.js';
import { inject } from '../harness/inject.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import {
  expectRefusal,
  type FailingStart,
  failingIn,
  loadConfig,
  refusedConfigIn,
  startOwn,
} from '../harness/starts.js';

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
    const umask = process.umask();
    try {
      await expect(openDataDir(file)).rejects.toThrow(/^the data directory [^\n]+a-file[^\n]+$/);
    } finally {
      process.umask(umask);
    }
  });

  it('Bad input: an unknown key in the configuration, at any level', async () => {
    expectRefusal(await refused([], { no_such_key: 1 }), 'no_such_key');
    expectRefusal(await refused([], { http: { no_such_key: 1 } }), 'no_such_key');
    expectRefusal(await refused([], { http: { Port: 1 } }), 'Port');
  });

  it('Bad input: a wrong type in the configuration', async () => {
    expectRefusal(await refused([], { http: { max_body_bytes: 'many' } }), 'max_body_bytes');
    expectRefusal(await refused([], { http: [] }), 'http');
    expectRefusal(await refused([], { stream: { max_streams: 1.5 } }), 'max_streams');
    expectRefusal(await refused([], { stream: { max_streams: -1 } }), 'max_streams');
    expectRefusal(await refused([], { data_dir: 7 }), 'data_dir');
    expectRefusal(await refused([], { bots: {} }), 'bots');
    expectRefusal(await refused([], { demo: { enabled: 'yes please' } }), 'enabled');
  });

  it('Bad input: a value that no configuration can change', async () => {
    expectRefusal(await refused([], { shutdown: { bots_ms: 1 } }), 'shutdown');
    expectRefusal(await refused([], undefined, { DROVER_PIN_CAPACITY: '9' }), 'PIN_CAPACITY');
  });

  it('Bad input: a port out of range', async () => {
    expectRefusal(await refused(['--port', '70000']), /port/);
    // 2: a value that is not a port number is wrong usage (docs/CLI.md).
    expectRefusal(await refused(['--port', '-1']), /port/, 2);
    expectRefusal(await refused(['--port', 'many']), /port/, 2);
  });

  it('Bad input: a wrong type or an unknown key in the environment', async () => {
    expectRefusal(
      await refused([], undefined, { DROVER_STREAM_MAX_STREAMS: 'many' }),
      /MAX_STREAMS|stream.max_streams/,
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
    const twice = { id: 'twin', kind: 'synthetic', config };
    const refusals: [object[], RegExp][] = [
      [[wrong], /^the configured bot "a": .*events_per_second.*$/],
      [[twice, twice], /^the configured bot "twin": another bot has this id$/],
    ];
    for (const [bots, message] of refusals) {
      const start = inject({ config: { bots } });
      await expect(start).rejects.toThrow(StartupError);
      await expect(start).rejects.toThrow(message);
    }
  });
});

describe('configuration', () => {
  const bot = { kind: 'synthetic', config: { events_per_second: 1, message_bytes: 10 } };

  describe('of a service that has all sources', () => {
    let home: string;
    let service: Service;
    const dirOf = (source: string): string => path.join(home, `from-${source}`);
    const config = (): object => ({
      data_dir: dirOf('file'),
      stream: { max_streams: 9 },
      demo: { enabled: true },
      bots: [
        { ...bot, id: 'one', labels: { team: 'red' } },
        { ...bot, id: 'two' },
      ],
    });
    const env = (): Record<string, string> => ({
      DROVER_DATA_DIR: dirOf('env'),
      DROVER_STREAM_MAX_STREAMS: '2',
    });
    const file = (): string => path.join(home, 'config.json');
    beforeAll(async () => {
      home = makeDir();
      writeFileSync(file(), `\ufeff${JSON.stringify(config())}`);
      const args = ['--config', file()];
      service = await startService({ dataDir: dirOf('flag'), args, env: env() });
    });
    afterAll(async () => {
      await stopClean(service);
      removeDir(home);
    });

    it('Configuration: environment overrides file, and a flag overrides both', async () => {
      expect((await loadConfig(file(), {}, {})).data_dir).toBe(dirOf('file'));
      expect((await loadConfig(file(), env(), {})).data_dir).toBe(dirOf('env'));
      // All three together, on the service itself.
      expect(service.pinPath).toBe(path.join(dirOf('flag'), 'pin.txt'));
    });

    it('Configuration: its bots exist from the start, with their labels; --no-demo overrides demo.enabled, also in a file that begins with a byte order mark', async () => {
      // A client that can connect finds all bots.
      expect((await call(service, 'GET', '/api/bots')).json).toEqual({
        bots: [
          expect.objectContaining({ id: 'one', kind: 'synthetic', labels: { team: 'red' } }),
          expect.objectContaining({ id: 'two', kind: 'synthetic', labels: {} }),
        ],
      });
      // In the file the same key has the same effect.
      const without = path.join(home, 'without.json');
      writeFileSync(without, JSON.stringify({ demo: { enabled: false } }));
      expect((await loadConfig(without, {}, {})).demo.enabled).toBe(false);
      expect((await loadConfig(file(), {}, { 'demo.enabled': false })).demo).toEqual({
        enabled: false,
        bots: 3,
      });
    });

    it('Configuration: a key from the environment reaches the service', async () => {
      const headers = { authorization: `Bearer ${await service.token()}` };
      const streams = [
        await service.open('/events', headers),
        await service.open('/events', headers),
      ];
      expect((await service.request({ method: 'GET', target: '/events', headers })).status).toBe(
        503,
      );
      for (const stream of streams) stream.destroy();
    });
  });

  it('Configuration: the demo has three bots, and --bot-hosts sets the number of hosts for bots', async () => {
    const service = await startOwn({ demo: true, args: ['--bot-hosts', '2'] });
    const bots = async () =>
      ((await call(service, 'GET', '/api/bots')).json as { bots: { id: string; host: number }[] })
        .bots;
    expect((await bots()).map(({ id }) => id).sort()).toEqual([1, 2, 3].map((n) => `demo-${n}`));
    await expect
      .poll(async () => {
        const hosts = (await bots()).map(({ host }) => host).filter((host) => host !== null);
        return new Set(hosts).size;
      })
      .toBe(2);
  });
});
