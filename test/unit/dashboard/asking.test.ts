// One question that is asked again and again: while a request runs, reasons to ask again do not end it.

import { expect, it } from 'vitest';
import { type Answered, Asking } from '../../../dashboard/src/model/asking.js';

interface Request {
  signal: AbortSignal;
  show: (part: string) => void;
  answer: (value: string) => void;
  refuse: (error: Error) => void;
}

function scripted() {
  const requests: Request[] = [];
  const states: Answered<string>[] = [];
  const asking = new Asking<string>(
    (signal, show) =>
      new Promise((answer, refuse) => {
        signal.addEventListener('abort', () => refuse(new Error('aborted')));
        requests.push({ signal, show, answer, refuse });
      }),
    (now) => states.push(now),
  );
  /** After what the last call has set off. */
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  const now = () => states.at(-1);
  return { requests, asking, settled, now };
}

it('a request runs to its end, however often it is to be asked again, and then once more', async () => {
  const { requests, asking, settled, now } = scripted();
  for (let n = 0; n < 5; n++) asking.again();
  expect(requests).toHaveLength(1);
  requests[0]?.answer('first');
  await settled();
  expect(requests[0]?.signal.aborted).toBe(false);
  expect(requests).toHaveLength(2);
  expect(now()).toEqual({ value: 'first', error: undefined, isLoading: true });
  requests[1]?.answer('second');
  await settled();
  expect(requests).toHaveLength(2);
  expect(now()).toEqual({ value: 'second', error: undefined, isLoading: false });
});

it('a refusal leaves the last answer, with the reason; the next answer ends it', async () => {
  const { requests, asking, settled, now } = scripted();
  asking.again();
  requests[0]?.answer('known');
  await settled();
  asking.again();
  requests[1]?.refuse(new Error('busy'));
  await settled();
  expect(now()).toEqual({ value: 'known', error: new Error('busy'), isLoading: false });
  asking.again();
  requests[2]?.answer('new');
  await settled();
  expect(now()).toEqual({ value: 'new', error: undefined, isLoading: false });
});

it('a part is shown before the rest, and none of a question that has ended', async () => {
  const { requests, asking, now } = scripted();
  asking.again();
  requests[0]?.show('a part');
  expect(now()).toEqual({ value: 'a part', error: undefined, isLoading: true });
  asking.stop();
  requests[0]?.show('late');
  requests[0]?.answer('late');
  expect(now()?.value).toBe('a part');
});

it('after a reconnect a request on the old connection is replaced', async () => {
  const { requests, asking, settled, now } = scripted();
  asking.again();
  asking.restart();
  await settled();
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(now()).toEqual({ value: undefined, error: undefined, isLoading: true });
  requests[1]?.answer('there');
  await settled();
  expect(now()?.value).toBe('there');
});
