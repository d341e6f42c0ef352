import { expect, it } from 'vitest';
import { printQuery } from '../../../../src/shared/query/print-query.js';
import { selectionOf } from '../../../../src/shared/query/selection.js';

const printed = (parameters: string, use: 'bots' | 'lines' = 'lines'): string =>
  printQuery(selectionOf(new URLSearchParams(parameters), use));

it.each([
  ['event=log&level=warn,error&level=info', 'event:log level:warn,error,info'],
  ['session=a,,b&scope=tcp', 'bot:a,b scope:tcp'],
  ['kind=demo&status=failed,backoff', 'kind:demo status:failed,backoff'],
  // Of labels, all are required.
  ['label=team=a,zone&label=x=1', 'label:team=a label:zone label:x=1'],
  ['query=-kind:demo+gold&level=warn', '-kind:demo gold level:warn'],
  ['q=two+words&level=warn', '"two words" level:warn'],
  ['limit=5&token=x&snapshot=0&order=newest', ''],
  ['node=self', ''],
  ['node=h1,h2', 'node:h1,h2'],
])('%s is %s', (parameters, query) => {
  expect(printed(parameters)).toBe(query);
});

it('takes the values as they are, also those that the language would read in another way', () => {
  expect(selectionOf([['session', 'demo-*']], 'bots')).toEqual([
    { type: 'field', isNot: false, field: 'bot', path: '', op: ':', values: [['demo-*']] },
  ]);
  expect(selectionOf([['level', 'loud']], 'lines')).toHaveLength(1);
});

it('selects nothing by a list without values', () => {
  for (const name of ['kind', 'label', 'session']) {
    expect(selectionOf([[name, '']], 'lines')).toMatchObject([{ values: [] }]);
  }
});

it('refuses a query for the other use', () => {
  expect(() => printed('query=level:warn', 'bots')).toThrow('query: level is about lines');
});
