import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findKinds, SHIPPED } from '../../../src/main/bots/kind-modules.js';
import { KindSchemas } from '../../../src/main/bots/kind-schemas.js';
import type { ProgramDefinition } from '../../../src/shared/contract/programs.js';

const dir = mkdtempSync(path.join(tmpdir(), 'drover-manifests-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const RAW = { command: ['bc'], protocol: 'raw' } as const;

/** What is found of a manifest with this text; `fault` is why it cannot be used. */
function manifest(text: string, name = 'calc.program.json') {
  const place = mkdtempSync(path.join(dir, 'kinds-'));
  writeFileSync(path.join(place, name), text);
  const { modules, programs, failed, perhaps } = findKinds([place], { graceMs: 7 });
  expect([...perhaps]).toEqual([]);
  return { place, program: programs[modules[SHIPPED.length] ?? ''], fault: failed[0]?.error };
}

/** Why a definition of the configuration cannot be used. */
function fault(definition: object): string | undefined {
  const { failed } = findKinds([], { programs: { calc: definition as ProgramDefinition } });
  return failed[0]?.error;
}

it('reads manifests beside modules; their directory is the working directory', () => {
  const { place, program } = manifest(JSON.stringify({ $schema: 'x', ...RAW }));
  expect(program).toEqual({
    kind: 'calc',
    definition: RAW,
    cwd: place,
    config: { type: 'object', properties: {}, additionalProperties: false },
    graceMs: 7,
  });
  mkdirSync(path.join(place, 'inner'));
  expect(manifest(JSON.stringify({ ...RAW, cwd: '/inner' })).program?.cwd).toBe('/inner');
  const one = findKinds([path.join(place, 'calc.program.json')]);
  expect(Object.values(one.programs)[0]?.kind).toBe('calc');
});

it('says what is wrong with a manifest, in one line', () => {
  expect(manifest('{').fault).toMatch(/^it is not valid JSON: /);
  expect(manifest('[]').fault).toMatch(/command/);
  expect(manifest('{"command": ["bc"]}').fault).toMatch(/protocol/);
  expect(manifest('{"command": "bc", "protocol": "raw"}').fault).toMatch(/^command must be array/);
  expect(manifest('{"command": ["bc"], "protocol": "tcp"}').fault).toMatch(/raw.*jsonl.*mcp/);
  expect(manifest(JSON.stringify({ ...RAW, shell: true })).fault).toMatch(/unknown key shell/);
  expect(manifest(JSON.stringify(RAW), 'a b.program.json').fault).toMatch(
    /^the name of the kind, "a b"/,
  );
});

it('says what is wrong with a definition', () => {
  expect(fault({ ...RAW, command: [''] })).toBe('command[0] is empty: it must name a program');
  expect(fault({ ...RAW, config: { type: 'string' } })).toBe(
    'config must be the schema of an object, not of type "string"',
  );
  expect(fault({ ...RAW, env: { KEY: { config: 'key' } } })).toBe(
    'env.KEY: the schema of the configuration has no key key',
  );
  expect(fault({ ...RAW, commands: {} })).toBe(
    'commands: a raw program has send, signal and eof only',
  );
});

it('refuses keys that the schema of the configuration does not name, unless it says otherwise', () => {
  const closedBy = (config: object): unknown => {
    const { programs } = findKinds([], { programs: { calc: { ...RAW, config } as never } });
    return programs['programs/calc']?.config['additionalProperties'];
  };
  expect(closedBy({ properties: { a: {} } })).toBe(false);
  expect(closedBy({ properties: { a: {} }, additionalProperties: true })).toBe(true);
  expect(closedBy({ anyOf: [{ required: ['a'] }] })).toBeUndefined();
});

it('shows the commands that a run has offered last', () => {
  const schemas = new KindSchemas();
  const info = { kind: 'calc', description: '', config: { type: 'object' }, commands: {} };
  schemas.add([info]);
  const commands = { add: { description: 'Adds', args: { type: 'object', required: ['a'] } } };
  schemas.offer('calc', commands);
  schemas.offer('no such kind', commands);
  expect(schemas.infos()).toEqual([{ ...info, commands }]);
});
