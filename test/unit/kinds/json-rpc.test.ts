// Any line that a program writes is taken, answered, or a fault with a reason.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonRpc } from '../../../src/kinds/program/json-rpc.js';

const names = fc.constantFrom(
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  '__proto__',
  'constructor',
  'toString',
);
const values = fc.oneof(
  fc.jsonValue(),
  names,
  fc.constantFrom(0, 1, 2, -1, 1e308, '', 'log', 'fetch', {}, [], null),
);
const lines = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.dictionary(names, values, { noNullPrototype: true }).map((message) => JSON.stringify(message)),
  fc.nat(20_000).map((depth) => `{"id":${'['.repeat(depth)}${']'.repeat(depth)},"result":1}`),
  fc.nat(20_000).map((depth) => `{"id":1,"error":${'['.repeat(depth)}${']'.repeat(depth)}}`),
);

it('any line is taken, or is a fault with a reason', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(lines, { maxLength: 5 }), fc.boolean(), async (written, isCut) => {
      const faults: string[] = [];
      const rpc = new JsonRpc({
        send: (line) => void JSON.parse(line),
        notification: (method, params) => expect([typeof method, typeof params]).toEqual(KINDS),
        request: async (method) => method,
        quote: (text, units) => text.slice(0, units),
        fault: (reason) => void faults.push(reason),
      });
      const { result } = rpc.request('command', {});
      const settled = result.then(
        () => {},
        (error) => expect(error).toBeInstanceOf(Error),
      );
      for (const line of written) rpc.receive(line, isCut ? 7 : 0);
      rpc.close(new Error('over'));
      await settled;
      for (const fault of faults) expect(fault).toMatch(/^the program (?:wrote|answered) /);
    }),
    { numRuns: 500, seed: 1 },
  );
});

const KINDS = ['string', 'object'];
