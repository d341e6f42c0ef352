import { expect, it } from 'vitest';
import { Deferred } from '../../../src/shared/deferred.js';

it('settles when told, once', async () => {
  const resolved = new Deferred<number>();
  resolved.resolve(1);
  resolved.reject(new Error('too late'));
  expect(await resolved.promise).toBe(1);
  const rejected = new Deferred();
  rejected.reject(new Error('failed'));
  await expect(rejected.promise).rejects.toThrow('failed');
});
