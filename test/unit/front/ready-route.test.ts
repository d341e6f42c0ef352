import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Exchange, Response } from '../../../src/front/engine/engine.js';
import type { Control } from '../../../src/front/routes/control.js';
import { readyRoute } from '../../../src/front/routes/ready-route.js';
import type { ControlMethods } from '../../../src/shared/contract/threads.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { DroverError } from '../../../src/shared/errors.js';

type Readiness = ReturnType<ControlMethods['readiness']>;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A front whose main answers when the test says so. */
function front() {
  const asked: Deferred<Readiness>[] = [];
  const call = () => {
    const answer = new Deferred<Readiness>();
    asked.push(answer);
    return answer.promise;
  };
  const views = { isWithoutCluster: false };
  const route = readyRoute({ call } as unknown as Pick<Control, 'call'>, views);
  const get = async (): Promise<number | string> => {
    let status = 0;
    const respond = (response: Response) => {
      status = response.status;
    };
    try {
      await route({ respond } as Exchange);
      return status;
    } catch (thrown) {
      return (thrown as DroverError).message;
    }
  };
  return { asked, get, views };
}

it('asks main once for all that ask meanwhile, and again when the answer is old', async () => {
  const { asked, get } = front();
  const all = [get(), get(), get()];
  asked[0]?.resolve({ reason: null });
  expect(await Promise.all(all)).toEqual([200, 200, 200]);
  expect(await get()).toBe(200);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(500);
  const later = get();
  expect(asked).toHaveLength(2);
  asked[1]?.resolve({ reason: 'cut off' });
  expect(await later).toBe('cut off');
});

it('is not ready while main does not answer, or cannot be asked', async () => {
  const { asked, get } = front();
  const hung = get();
  await vi.advanceTimersByTimeAsync(2000);
  expect(await hung).toBe('main does not answer');
  await vi.advanceTimersByTimeAsync(500);
  const refused = get();
  asked[1]?.reject(new DroverError('unavailable', 'too many requests wait'));
  expect(await refused).toBe('too many requests wait');
});

it('is not ready before the stream of the cluster is at this front', async () => {
  const { asked, get, views } = front();
  views.isWithoutCluster = true;
  const early = get();
  asked[0]?.resolve({ reason: null });
  expect(await early).toBe('this node has not joined the cluster yet');
  views.isWithoutCluster = false;
  expect(await get()).toBe(200);
});
