// What `GET /api/kinds` says of a kind's configuration, and what is accepted, must agree.

import { expect, it } from 'vitest';
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
