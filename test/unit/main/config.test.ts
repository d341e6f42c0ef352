// On the build: the defaults are found beside it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULTS, TLS_CIPHERS } from '../../../src/shared/contract/config.js';

const built = new URL('../../../dist/src/main/environment/load-config.js', import.meta.url).href;
const { loadConfig, configKeys, envNames } = (await import(
  built
)) as typeof import('../../../src/main/environment/load-config.js');

const dir = mkdtempSync(join(tmpdir(), 'drover-config-'));
afterAll(() => rmSync(dir, { recursive: true }));
let files = 0;
function file(content: unknown): string {
  const path = join(dir, `${files++}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

type Tree = { [name: string]: unknown };
const defaults: Tree = DEFAULTS;
const valueAt = (values: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (at as Tree)[name], values);
const nest = (path: string, value: unknown): Tree =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Tree;

function fault(load: () => unknown): string {
  try {
    load();
  } catch (thrown) {
    expect((thrown as Error).name).toBe('StartupError');
    const { message } = thrown as Error;
    expect(message).not.toMatch(/[\r\n]/);
    return message;
  }
  return expect.unreachable('it was accepted');
}

/** Keys that take the name of any file or directory. */
const ANY_FILE =
  /^(data_dir|fleet|(cluster\.)?tls\.(ca|cert|key)|cluster\.(credentials|secret_key_file))$/;

type Variants = [unknown, unknown, unknown];

/** A value for each key that is neither the default nor the same for two sources. */
function variants(path: string): Variants {
  const value = valueAt(defaults, path);
  if (typeof value === 'boolean') return [!value, value, !value];
  if (path === 'engine') return ['uws', 'node', 'uws'];
  if (path === 'start.bots') return ['safe', 'none', 'all'];
  if (path === 'restart.policy') return ['always', 'never', 'always'];
  if (path === 'hosts.isolation') return ['process', 'thread', 'process'];
  if (path === 'hosts.isolation_by_kind') {
    return [{ a: 'process' }, { a: 'thread' }, { a: 'process' }];
  }
  if (path === 'log.access') return ['errors', 'all', 'errors'];
  if (path === 'journal.fsync') return ['always', 'never', 'always'];
  if (path === 'http.forwarded_header') return ['forwarded', 'x-forwarded-for', 'forwarded'];
  if (path === 'cluster.name') return ['a', 'b', 'c'];
  if (typeof value === 'string') return ['::1', '127.0.0.1', '127.0.0.2'];
  const isText = [
    'kinds',
    'network.allow',
    'hosts.env',
    'http.allowed_hosts',
    'cluster.servers',
  ].includes(path);
  if (isText) return [['a'], ['b'], ['c']];
  if (path === 'http.trusted_proxies') return [['::1'], ['10.0.0.0/8'], ['1.2.3.4']];
  if (path === 'http.cors_origins') return [['null'], ['https://a.example'], ['tauri://b']];
  if (path === 'http.allowed_hosts') return [['a'], ['b.example'], ['c']];
  if (path === 'tls.ciphers') return TLS_CIPHERS.slice(0, 3).map((name) => [name]) as Variants;
  if (Array.isArray(value)) {
    const bot = { kind: 'demo', config: {}, labels: {}, dedicated: false, desired: 'stopped' };
    return [1, 2, 3].map((at) => [{ id: `b${at}`, ...bot }]) as Variants;
  }
  if (path === 'cluster.labels') return [{ a: '1' }, { a: '2' }, { a: '3' }];
  if (path === 'cluster.replicas') return [1, 3, 5];
  if (ANY_FILE.test(path)) return ['one', 'two', 'three'];
  if (path === 'cluster.node') return ['one', 'two', 'three'];
  if (value === null) return [5, 6, 7];
  if (path === 'programs') {
    return ['one', 'two', 'three'].map((name) => ({
      a: { command: [name], protocol: 'raw' },
    })) as Variants;
  }
  // Objects are merged key by key.
  if (typeof value === 'object') return [{ a: 1 }, { a: 2 }, { a: 3 }];
  const base = value as number;
  if (!Number.isInteger(base)) return [0.5, 0.25, 0.75];
  return [base + 1, base + 2, base + 3];
}

describe('the configuration', () => {
  const keys = configKeys().map(({ path }) => path);

  it('is the defaults when nothing else is given, with a value for every key', () => {
    expect(loadConfig(undefined, {}, {})).toMatchObject(defaults);
    for (const path of keys) expect(valueAt(defaults, path)).not.toBeUndefined();
  });

  it('has its own environment variable for every key', () => {
    const names = envNames();
    expect([...names.values()].map(({ path }) => path)).toEqual(keys);
    expect(names.size).toBe(keys.length);
    for (const name of names.keys()) expect(name).toMatch(/^DROVER_[A-Z0-9_]+$/);
  });

  it('takes each key from the file, over it from the environment, over that from the command line', () => {
    const names = new Map([...envNames()].map(([name, { path }]) => [path, name]));
    for (const path of keys) {
      const [one, two, three] = variants(path);
      const from = file({ $schema: 'x', ...nest(path, one) });
      const text = typeof two === 'string' ? two : JSON.stringify(two);
      const env = { [names.get(path) as string]: text, HOME: '/', DROVE: 'x', drover_x: 'y' };
      const flags = { [path]: three as number };
      const got = (...args: Parameters<typeof loadConfig>) => valueAt(loadConfig(...args), path);
      expect([path, got(from, {}, {})]).toEqual([path, one]);
      expect([path, got(from, env, {})]).toEqual([path, two]);
      // The neighbours stay as they were.
      const rest = keys.filter((key) => key !== path);
      const loaded = loadConfig(from, env, flags);
      expect([path, valueAt(loaded, path)]).toEqual([path, three]);
      for (const key of rest) expect(valueAt(loaded, key)).toEqual(valueAt(defaults, key));
    }
  });

  it('takes text of the environment as it stands where the key takes text', () => {
    const host = (text: string) => loadConfig(undefined, { DROVER_HTTP_HOST: text }, {}).http.host;
    expect(host('127.0.0.1')).toBe('127.0.0.1');
    expect(host('123')).toBe('123');
    expect(loadConfig(undefined, { DROVER_DATA_DIR: '42' }, {}).data_dir).toBe('42');
  });
});

it('an address to listen on may have the brackets that it has in a URL', () => {
  const host = (text: string) => loadConfig(undefined, {}, { 'http.host': text }).http.host;
  expect([host('[::1]'), host('::1'), host('localhost')]).toEqual(['::1', '::1', 'localhost']);
});

describe('a fault', () => {
  it('names its source and the key, on one line', () => {
    const broken = file({ http: { port: 'http' } });
    expect(fault(() => loadConfig(broken, {}, {}))).toMatch(`${broken}: http.port `);
    const unknown = file({ http: { prot: 1 } });
    expect(fault(() => loadConfig(unknown, {}, {}))).toMatch(`${unknown}: unknown key http.prot`);
    expect(fault(() => loadConfig(undefined, { DROVER_HTTP_PORT: '70000' }, {}))).toMatch(
      /environment \(DROVER_HTTP_PORT\): http\.port /,
    );
    expect(fault(() => loadConfig(undefined, {}, { 'http.fronts': 0 }))).toMatch(
      /command line: http\.fronts /,
    );
    expect(fault(() => loadConfig(undefined, { DROVER_HTTP_PROT: '1' }, {}))).toMatch(
      /DROVER_HTTP_PROT/,
    );
  });

  it('of a soft quota above the hard one is found, although the schema takes both', () => {
    const quota = { cpu: { soft: 0.5, hard: 0.2 } };
    expect(fault(() => loadConfig(file({ quota }), {}, {}))).toBe(
      'quota.cpu: soft (0.5) must not be above hard (0.2); docs/CONFIGURATION.md lists all keys',
    );
    const env = { DROVER_QUOTA_CPU: '{"soft":0.2,"hard":0.5}', DROVER_QUOTA_MEMORY_MB: '100' };
    expect(loadConfig(undefined, env, {}).quota).toMatchObject({
      cpu: { soft: 0.2, hard: 0.5 },
      memory_mb: 100,
      connections: null,
    });
  });

  it('of an entry of network.allow is found, although the schema takes any text', () => {
    expect(fault(() => loadConfig(file({ network: { allow: ['*', 'a:b'] } }), {}, {}))).toBe(
      'network.allow: "a:b" is no host, *.domain, address or network, with or without a port; docs/CONFIGURATION.md lists all keys',
    );
  });

  it('of a variable that bots never get is found in hosts.env', () => {
    const hosts = { env: ['MY_TOKEN', 'NODE_OPTIONS'] };
    expect(fault(() => loadConfig(file({ hosts }), {}, {}))).toBe(
      'hosts.env: NODE_OPTIONS is for the service itself, and never passed to bots; docs/CONFIGURATION.md lists all keys',
    );
  });

  it('of an entry of http.trusted_proxies is found, although the schema takes what looks like an address', () => {
    const http = { trusted_proxies: ['::1', '10.0.0.0/33'] };
    expect(fault(() => loadConfig(file({ http }), {}, {}))).toBe(
      'http.trusted_proxies: "10.0.0.0/33" is neither an address nor a network; docs/CONFIGURATION.md lists all keys',
    );
  });

  it('is found in every key, from every source', () => {
    const names = new Map([...envNames()].map(([name, { path }]) => [path, name]));
    for (const { path, schema } of configKeys()) {
      const wrong = { wrong: true };
      expect(fault(() => loadConfig(file(nest(path, wrong)), {}, {}))).toContain(path);
      expect(fault(() => loadConfig(undefined, {}, { [path]: wrong }))).toContain(path);
      const text = (schema as { type?: string }).type === 'string' ? '' : '{"wrong":true}';
      // Any text is the name of a file or a directory.
      if (ANY_FILE.test(path)) continue;
      const env = { [names.get(path) as string]: text };
      expect(fault(() => loadConfig(undefined, env, {}))).toContain(path);
    }
  });

  it('is a file that is not there, not JSON, or not an object', () => {
    const missing = join(dir, 'missing.json');
    expect(fault(() => loadConfig(missing, {}, {}))).toContain(missing);
    for (const text of ['', '{', '{"a":1}\n{', 'x: 1', '\u0000']) {
      expect(fault(() => loadConfig(file(text), {}, {}))).toMatch(/not valid JSON/);
    }
    for (const value of [[], 1, null, '"text"', true]) {
      expect(fault(() => loadConfig(file(value), {}, {}))).toMatch(/object/);
    }
  });

  it('is every key that there is not, also those that objects have by themselves', () => {
    const own = new Set(Object.keys(defaults));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'HTTP', ''),
          fc.string(),
        ),
        fc.jsonValue(),
        (name, value) => {
          fc.pre(!own.has(name));
          // Written by hand: an object literal would take __proto__ for something else.
          fault(() =>
            loadConfig(file(`{${JSON.stringify(name)}: ${JSON.stringify(value)}}`), {}, {}),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});
