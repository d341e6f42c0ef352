import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secrets } from '../../../../src/cluster/control/secrets.js';
import type { BotSpec } from '../../../../src/shared/contract/bots.js';
import { withoutSecrets } from '../../../../src/shared/contract/secrets.js';

const schema = {
  type: 'object',
  properties: {
    host: { type: 'string' },
    password: { type: 'string', writeOnly: true },
    accounts: {
      type: 'array',
      items: { type: 'object', properties: { pass: { writeOnly: true } } },
    },
  },
};
const schemas = {
  withoutSecrets: (kind: string, config: BotSpec['config']) =>
    kind === 'irc' ? withoutSecrets(config, schema) : {},
};
const HEX = 'ab'.repeat(32);

function spec(config: BotSpec['config'], more: Partial<BotSpec> = {}): BotSpec {
  const restart = {} as BotSpec['restart'];
  const fixed = { kind: 'irc', labels: {}, desired: 'running' as const, dedicated: false };
  return { id: 'bot.1', ...fixed, restart, config, ...more };
}

function keyFile(text: string, mode = 0o600): string {
  const path = join(mkdtempSync(join(tmpdir(), 'drover-key-')), 'key');
  writeFileSync(path, text);
  // An earlier test of this process may have left a umask.
  chmodSync(path, mode);
  return path;
}

function secrets(key: string | null = HEX, cluster = 'c'): Secrets {
  return new Secrets({ cluster, keyFile: key === null ? null : keyFile(key) }, schemas);
}

const WITH_SECRETS = {
  host: 'irc.example',
  password: 'hunter2',
  accounts: [{ name: 'a', pass: 'first-pass' }, 'plain'],
};

test('what is sealed shows no secret and opens as it was', () => {
  const given = spec(WITH_SECRETS, { term: 3 });
  const record = secrets().seal(given);
  expect(JSON.stringify(record)).not.toMatch(/hunter2|first-pass/);
  expect(record.spec.config).toEqual({ host: 'irc.example', accounts: [{ name: 'a' }, 'plain'] });
  expect(record.spec).not.toHaveProperty('term');
  expect(record.failover).toBe('restart');
  const { term: _, ...expected } = given;
  expect(secrets().open(record)).toEqual(expected);
});

test('the same is sealed differently each time', () => {
  const one = secrets();
  expect(one.seal(spec(WITH_SECRETS)).sealed).not.toBe(one.seal(spec(WITH_SECRETS)).sealed);
});

test('a bot without secrets needs no key', () => {
  const given = spec({ host: 'irc.example' }, { failover: 'stay' });
  expect(secrets(null).seal(given)).toEqual({ spec: given, sealed: null, failover: 'stay' });
});

test('without a key the secrets are left out, and the bot is bound to its node', () => {
  const record = secrets(null).seal(spec(WITH_SECRETS));
  expect(record).toMatchObject({ sealed: null, failover: 'bound' });
  expect(JSON.stringify(record)).not.toMatch(/hunter2|first-pass/);
});

test('everything in the configuration of an unknown kind is secret', () => {
  const record = secrets().seal(spec({ host: 'irc.example' }, { kind: 'other' }));
  expect(record.spec.config).toEqual({});
  expect(secrets().open(record).config).toEqual({ host: 'irc.example' });
});

test('what was sealed for one bot does not open for another, in another cluster, or changed', () => {
  const record = secrets().seal(spec(WITH_SECRETS));
  const other = { ...record, spec: { ...record.spec, id: 'bot.2' } };
  expect(() => secrets().open(other)).toThrow('the secrets of bot bot.2 cannot be decrypted');
  expect(() => secrets(HEX, 'd').open(record)).toThrow('cannot be decrypted');
  const sealed = `${record.sealed?.slice(0, -8)}AAAAAAA=`;
  expect(() => secrets().open({ ...record, sealed })).toThrow('cannot be decrypted');
  expect(() => secrets().open({ ...record, sealed: '1.' })).toThrow('cannot be decrypted');
  expect(() => secrets().open({ ...record, sealed: '2.x' })).toThrow('later version');
});

test('another key is named as the reason, and a missing one', () => {
  const record = secrets().seal(spec(WITH_SECRETS));
  expect(() => secrets('cd'.repeat(32)).open(record)).toThrow(
    'encrypted with another key than that of this node (cluster.secret_key_file)',
  );
  expect(() => secrets(null).open(record)).toThrow('this node has no cluster.secret_key_file');
});

test('hex and base64 are the same key, and its check value tells keys and clusters apart', () => {
  const base64 = Buffer.from(HEX, 'hex').toString('base64');
  expect(secrets(`${base64}\n`).check).toBe(secrets(HEX).check);
  expect(secrets('cd'.repeat(32)).check).not.toBe(secrets(HEX).check);
  expect(secrets(HEX, 'd').check).not.toBe(secrets(HEX).check);
  expect(secrets(null).check).toBeNull();
});

test('a file that is no key, or that is not there', () => {
  const open = (file: string) => () => new Secrets({ cluster: 'c', keyFile: file }, schemas);
  expect(open(keyFile('too short'))).toThrow('is not a key: 32 bytes in hex or base64');
  expect(open(keyFile(HEX.slice(2)))).toThrow('is not a key');
  expect(open('/no/such/key')).toThrow('the file of cluster.secret_key_file cannot be read');
});

test.skipIf(process.platform === 'win32')('a key file that others can read is refused', () => {
  const path = keyFile(HEX, 0o640);
  expect(() => new Secrets({ cluster: 'c', keyFile: path }, schemas)).toThrow(
    `${path} (cluster.secret_key_file) can be read by others: chmod 600`,
  );
});
