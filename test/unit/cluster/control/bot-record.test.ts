import { expect, it } from 'vitest';
import { readBotRecord } from '../../../../src/cluster/control/bot-records.js';

const RECORD = {
  v: 1,
  spec: { id: 'a', kind: 'k', config: {}, labels: {}, dedicated: false, desired: 'running' },
  node: 'h1',
  term: 3,
  state: 'placed',
  failover: 'restart',
  sealed: null,
};
const read = (value: unknown) => readBotRecord('a', JSON.stringify(value));

it('keeps what it does not know', () => {
  const more = { ...RECORD, more: [1], spec: { ...RECORD.spec, more: { deep: true } } };
  expect(read(more)).toEqual(more);
});

it.for([
  [{ v: 2 }, 'it has version 2, this node knows 1: update this node'],
  [{ v: 'x' }, 'bot.v must be integer'],
  [{ spec: { ...RECORD.spec, id: 'b' } }, 'it is not of this bot'],
  [{ spec: null }, 'bot.spec must be object'],
  [{ spec: { ...RECORD.spec, labels: null } }, 'bot.spec.labels must be object'],
  [{ spec: { ...RECORD.spec, id: '../../x' } }, 'bot.spec.id must be 1 to 64 letters'],
  [{ node: 7 }, 'bot.node must be string'],
  [{ term: 'x' }, 'bot.term must be integer'],
  [{ state: 'resting' }, 'bot.state must be one of placing, placed'],
  [{ failover: 'twice' }, 'bot.failover must be one of restart, stay'],
  [{ sealed: {} }, 'bot.sealed must be string or null'],
] as const)('says why it cannot read %j', ([change, why]) => {
  expect(() => read({ ...RECORD, ...change })).toThrow(why);
});

it('says what is no record at all', () => {
  expect(() => read(null)).toThrow('bot must be object');
  expect(() => readBotRecord('a', '{')).toThrow(/^it is not JSON: /);
});
