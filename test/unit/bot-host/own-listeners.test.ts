import { expect, it } from 'vitest';
import {
  type CurrentRun,
  type KindCode,
  noteKindCode,
  runAsBot,
} from '../../../src/bot-host/current-bot.js';
import {
  emitTo,
  endOf,
  onRelease,
  ownOf,
  ownsFor,
  releaseOwn,
  runContained,
  uncaught,
} from '../../../src/bot-host/own-listeners.js';
import { OwnValues } from '../../../src/bot-host/own-values.js';
import { partial } from '../../harness/partial.js';

let lastRun = 0;

function newRun(): { run: CurrentRun; failed: unknown[] } {
  const failed: unknown[] = [];
  const run = partial<CurrentRun>({
    id: 'bot',
    kind: { kind: 'test' },
    number: ++lastRun,
    isGone: false,
    fail: (thrown: unknown) => void failed.push(thrown),
  });
  return { run, failed };
}

it('the listeners of a run go with it, and later ones are not kept', () => {
  const { run, failed } = newRun();
  const seen: unknown[] = [];
  ownOf(run).emitter.on('exit', (code) => seen.push(code));
  onRelease(run, () => seen.push('released'));
  releaseOwn(run, 1);
  expect(seen).toEqual([1, 'released']);
  ownOf(run).emitter.on('exit', (code) => seen.push(code));
  onRelease(run, () => seen.push('at once'));
  expect(ownsFor(run)).toEqual([]);
  releaseOwn(run, 0);
  expect(seen).toEqual([1, 'released', 'at once']);
  expect(failed).toEqual([]);
});

it('a run that throws in its listener of exit fails, and is released', () => {
  const { run, failed } = newRun();
  const boom = new Error('boom');
  ownOf(run).emitter.on('exit', () => {
    throw boom;
  });
  releaseOwn(run, 0);
  expect(failed).toEqual([boom]);
  expect(ownsFor(run)).toEqual([]);
});

it('listeners get the errors of their run only, and a run without listeners fails', () => {
  const [one, other] = [newRun(), newRun()];
  const heard: unknown[] = [];
  ownOf(one.run).emitter.on('uncaughtException', (error, origin) => heard.push([error, origin]));
  const boom = new Error('boom');
  runContained(one.run, () => {
    throw boom;
  });
  uncaught(other.run, boom);
  expect(heard).toEqual([[boom, 'uncaughtException']]);
  expect([one.failed, other.failed]).toEqual([[], [boom]]);
  expect(emitTo(other.run, 'uncaughtException', [boom])).toBe(false);
  for (const { run } of [one, other]) releaseOwn(run, 0);
});

it('the cause of process.exit is an error of the same run, also when the listener is that of the module', () => {
  const code = partial<KindCode>({ id: null, fail: () => {} });
  const [one, other] = [newRun(), newRun()];
  noteKindCode(one.run.kind, code);
  noteKindCode(other.run.kind, code);
  ownOf(code).emitter.on('uncaughtException', () => {});
  const boom = new Error('boom');
  uncaught(one.run, boom);
  expect(endOf(one.run, 'process.exit(1)')).toMatchObject({ cause: boom });
  expect(endOf(other.run, 'process.exit(1)')).not.toHaveProperty('cause');
  for (const owner of [one.run, other.run, code]) releaseOwn(owner, 0);
});

it('a value that a run sets is its own, until it sets the shared one again', () => {
  const values = new OwnValues('shared');
  const [{ run: one }, { run: other }] = [newRun(), newRun()];
  runAsBot(one, () => values.set(one, 'own'));
  expect([values.of(one), values.of(other)]).toEqual(['own', undefined]);
  values.set(one, 'shared');
  expect(values.of(one)).toBeUndefined();
});
