import { expect, it } from 'vitest';
import { Refusals } from '../../../src/front/requests/refusals.js';
import type { TokenRecord } from '../../../src/shared/contract/tokens.js';
import { DroverError } from '../../../src/shared/errors.js';

const record = (id: string) => ({ id }) as TokenRecord;
const refusal = new DroverError('bad_request');

it('lets 1,000 refused requests of a token through at once, and 100 a second after that', () => {
  let now = 5000;
  const refusals = new Refusals(() => now);
  const [one, other] = [record('one'), record('other')];
  const refused = (): number => {
    for (let count = 0; ; count++) {
      try {
        refusals.check(one);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'too_many', status: 429, retryAfterS: 1 });
        return count;
      }
      refusals.count(one, refusal);
    }
  };
  expect(refused()).toBe(1000);
  refusals.check(other);
  now += 990;
  expect(refused()).toBe(99);
  now += 60_000;
  expect(refused()).toBe(1000);
});

it('does not count what a bot or the service failed at', () => {
  const refusals = new Refusals(() => 0);
  const one = record('one');
  for (const code of ['command_failed', 'no_answer', 'internal'] as const) {
    for (let n = 0; n < 2000; n++) refusals.count(one, new DroverError(code));
  }
  for (let n = 0; n < 2000; n++) refusals.count(one, new Error('a fault'));
  refusals.check(one);
});
