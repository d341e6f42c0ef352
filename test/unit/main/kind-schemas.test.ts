// What `GET /api/kinds` says of a kind's configuration, and what is accepted, must agree.

import { expect, it, vi } from 'vitest';
import { KindSchemas } from '../../../src/main/bots/kind-schemas.js';

const KIND = {
  kind: 'walker',
  description: '',
  commands: {},
  config: {
    type: 'object',
    required: ['world_url', 'name'],
    properties: { world_url: { type: 'string' }, name: { type: 'string' } },
  },
};

function required(schemas: KindSchemas): unknown {
  return schemas.infos()[0]?.config['required'];
}

it('requires no key that has a default known only at run time', () => {
  const schemas = new KindSchemas();
  expect(schemas.add([KIND])).toEqual([]);
  expect(required(schemas)).toEqual(['world_url', 'name']);
  expect(() => schemas.checkConfig('walker', { name: 'a' })).toThrow('config.world_url is missing');
  schemas.setDefaults('walker', { world_url: 'http://127.0.0.1:1' });
  expect(required(schemas)).toEqual(['name']);
  expect(schemas.checkConfig('walker', { name: 'a' })).toEqual({
    name: 'a',
    world_url: 'http://127.0.0.1:1',
  });
  // The other key stays required.
  expect(() => schemas.checkConfig('walker', {})).toThrow('config.name is missing');
});

it('says why a kind is unknown: its module did not load, or kinds are read at the start', () => {
  const schemas = new KindSchemas();
  const add = (failed: { module: string; error: string; helper?: boolean }[]) =>
    schemas.add([KIND], new Map(), failed);
  const check = (kind: string) => () => schemas.checkConfig(kind, {});
  const helper = { module: 'file:///kinds/help.mjs', error: 'no kind', helper: true };
  add([helper]);
  expect(check('help')).toThrow(
    'unknown kind "help"; there are: walker (drover kinds reload finds new ones)',
  );
  add([helper, { module: 'file:///kinds/runner.mjs', error: 'run is missing' }]);
  expect(check('runner')).toThrow(
    'unknown kind "runner": file:///kinds/runner.mjs did not load: run is missing',
  );
  expect(check('flyer')).toThrow(
    'unknown kind "flyer"; there are: walker (modules that did not load: 1, see GET /api/kinds)',
  );
});

it('names the module of an invalid schema, and the command', () => {
  const schemas = new KindSchemas();
  const args = { properties: 7 };
  const bad = { ...KIND, kind: 'bad', commands: { say: { description: '', args } } };
  expect(schemas.add([bad], new Map([['bad', 'file:///kinds/b.mjs']]))).toEqual([
    {
      module: 'file:///kinds/b.mjs',
      error: expect.stringMatching(/^commands\.say\.args: schema is invalid: /),
    },
  ]);
});

it('checks formats, says which ones there are not, and prints nothing', () => {
  const schemas = new KindSchemas();
  const printed = vi.spyOn(console, 'warn');
  const url = { type: 'string', format: 'uri' };
  const odd = { type: 'string', format: 'shoe-size' };
  // A key with that name is none.
  const config = { type: 'object', properties: { url, odd, format: { type: 'string' } } };
  expect(schemas.add([{ ...KIND, config }])).toEqual([]);
  const good = { url: 'https://example.org/', odd: '42', format: 'x' };
  expect(schemas.checkConfig('walker', good)).toEqual(good);
  expect(() => schemas.checkConfig('walker', { url: 'no url' })).toThrow(
    'config.url must match format "uri"',
  );
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
  expect(schemas.notices).toEqual([
    'the bot kind walker: there is no format "shoe-size", use a pattern',
  ]);
});
