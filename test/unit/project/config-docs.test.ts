// The configuration's JSON schema and page are generated; these tests fail when they are out of date.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  configPage,
  configSchema,
  FLAGS,
  fleetSchema,
  projectDir,
} from '../../../config/generate.js';
import { configKeys } from '../../../src/main/environment/load-config.js';
import { DEFAULTS } from '../../../src/shared/contract/config.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { docBlock } from '../../harness/docs.js';

const STALE = 'out of date: run npm run generate';
const defaults = DEFAULTS as JsonObject;

function read(...path: string[]): string {
  return readFileSync(join(projectDir(), ...path), 'utf8');
}

/** Without the padding that the formatter adds to tables. */
function unpadded(page: string): string {
  return page.replace(/ {2,}/g, ' ').replace(/-{3,}/g, '---');
}

describe('configuration', () => {
  it('has a schema for editors that is up to date', () => {
    expect(JSON.parse(read('config', 'schema.json')), STALE).toEqual(configSchema(defaults));
  });

  it('fleet files have one too', () => {
    expect(JSON.parse(read('config', 'fleet.schema.json')), STALE).toEqual(fleetSchema());
  });

  it('has a page that is up to date', () => {
    expect(unpadded(read('docs', 'CONFIGURATION.md')), STALE).toBe(unpadded(configPage(defaults)));
  });

  it('has a default for every key', () => {
    for (const { path } of configKeys()) {
      const value = path.split('.').reduce<unknown>((at, name) => Object(at)[name], defaults);
      expect(value, path).not.toBeUndefined();
    }
  });

  it('lists the flags of the command line', () => {
    const cli =
      read('src', 'cli', 'commands', 'start.ts') + read('src', 'cli', 'flags', 'start-flags.ts');
    const flags = [...cli.matchAll(/(?:\.option|new Option)\(\s*'([^']+)'/g)].map(
      ([, flag]) => flag,
    );
    expect([...Object.values(FLAGS).join(', ').split(', '), '--config <file>'].sort()).toEqual(
      flags.sort(),
    );
  });
});

describe('config/fleet.schema.json', () => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(
    JSON.parse(read('config', 'fleet.schema.json')),
  );

  it('accepts the files of docs/FLEET.md', () => {
    for (const file of [
      docBlock('docs/FLEET.md', '# fleet.yaml'),
      docBlock('docs/FLEET.md', '# irc.yaml'),
    ]) {
      expect(validate(parse(file)), file).toBe(true);
    }
  });

  it('refuses unknown keys, and a bot without an id', () => {
    expect(validate({ name: 'a', bots: [] })).toBe(true);
    expect(validate({ name: 'a', bots: [], prune: true })).toBe(false);
    expect(validate({ name: 'a', bots: [{ kind: 'k' }] })).toBe(false);
    expect(validate({ name: 'a', bots: [{ id: 'a', template: 't', count: 10_001 }] })).toBe(false);
  });
});

describe('config/schema.json', () => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(
    JSON.parse(read('config', 'schema.json')),
  );

  it('accepts the default configuration and a partial one', () => {
    expect(validate(DEFAULTS)).toBe(true);
    expect(validate({})).toBe(true);
    expect(validate({ $schema: '../schema.json', http: { port: 1 } })).toBe(true);
    expect(validate({ bots: [{ id: 'a', kind: 'synthetic' }] })).toBe(true);
  });

  it('refuses unknown keys, wrong types and a bot without a kind', () => {
    expect(validate({ prot: 1 })).toBe(false);
    expect(validate({ http: { port: '1' } })).toBe(false);
    expect(validate({ http: { port: 65_536 } })).toBe(false);
    expect(validate({ bots: [{ id: 'a' }] })).toBe(false);
  });
});
