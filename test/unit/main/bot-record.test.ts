import { expect, it } from 'vitest';
import { readBotRecord } from '../../../src/main/cluster/bot-record.js';

const RECORD = {
  v: 1,
  spec: { id: 'a', kind: 'k', config: {}, labels: {} },
  node: 'h1',
  term: 3,
  state: 'placed',
  failover: 'restart',
  sealed: null,
};
const read = (value: unknown) => readBotRecord('a', Buffer.from(JSON.stringify(value)));

it('keeps what it does not know', () => {
  const more = { ...RECORD, more: [1], spec: { ...RECORD.spec, more: { deep: true } } };
  expect(read(more)).toEqual(more);
});

it.for([
  [{ v: 2 }, 'it has version 2, this node knows 1: update this node'],
  [{ v: '1' }, 'it has no version'],
  [{ spec: { ...RECORD.spec, id: 'b' } }, 'it is not of this bot'],
  [{ spec: null }, 'it is not of this bot'],
  [{ node: 7 }, 'it names no node'],
  [{ term: 'x' }, 'it names no node'],
  [{ state: 'resting' }, 'its state is "resting"'],
  [{ failover: 'twice' }, 'its failover is "twice"'],
  [{ sealed: {} }, 'its secrets are no text'],
] as const)('says why it cannot read %j', ([change, why]) => {
  expect(() => read({ ...RECORD, ...change })).toThrow(why);
});

it('says what is no record at all', () => {
  expect(() => read(null)).toThrow('it is no object');
  expect(() => readBotRecord('a', Buffer.from('{'))).toThrow(/^it is not JSON: /);
});
