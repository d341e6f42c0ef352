// A command for many bots, and what takes an action on many bots back.

import { describe, expect, it } from 'vitest';
import { BulkRun } from '../../../dashboard/src/model/bulk-run.js';
import { dryRun, sharedCommands } from '../../../dashboard/src/model/bulk-targets.js';
import { MAX_KNOWN, specificationsOf } from '../../../dashboard/src/model/specifications.js';
import { undoOf } from '../../../dashboard/src/model/undo.js';
import type { BotConfig, InvokeOutcome, KindInfo, NewBot } from '../../../src/client/index.js';

const ids = (count: number): string[] => Array.from({ length: count }, (_, n) => `b-${n}`);

interface Sent {
  ids: string[];
  answer: (outcomes: Record<string, InvokeOutcome>) => void;
  fail: (error: Error) => void;
}

/** A service whose answers the test gives. */
function service(): { sent: Sent[]; send: ConstructorParameters<typeof BulkRun>[1] } {
  const sent: Sent[] = [];
  const send: ConstructorParameters<typeof BulkRun>[1] = (some, signal) =>
    new Promise((resolve, reject) => {
      sent.push({ ids: some, answer: resolve, fail: reject });
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  return { sent, send };
}
const fine = ({ ids: some }: Sent): Record<string, InvokeOutcome> =>
  Object.fromEntries(some.map((id) => [id, { result: { of: id } }]));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a command for many bots', () => {
  it('goes out in batches, a few at once, and each bot gets its answer', async () => {
    const { sent, send } = service();
    const run = new BulkRun(ids(420), send);
    const done = run.run();
    expect(sent.map(({ ids: some }) => some.length)).toEqual([50, 50, 50, 50]);
    expect(run.answers.get('b-0')?.state).toBe('running');
    expect(run.answers.get('b-419')?.state).toBe('waiting');
    for (let n = 0; n < 9; n++) {
      const batch = sent[n] as Sent;
      batch.answer(fine(batch));
      await turn();
      expect(run.answered).toBe(Math.min(420, (n + 1) * 50));
    }
    await done;
    expect(run.answers.get('b-419')).toEqual({ state: 'done', text: '{"of":"b-419"}' });
    expect(new Set(sent.flatMap((batch) => batch.ids)).size).toBe(420);
    expect(run.failed).toEqual([]);
  });

  it('is sent again to those that failed, and only to them', async () => {
    const { sent, send } = service();
    const run = new BulkRun(ids(3), send);
    const done = run.run();
    sent[0]?.answer({ 'b-0': { result: 1 }, 'b-1': { error: 'busy' } });
    await done;
    expect(run.failed).toEqual(['b-1', 'b-2']);
    expect([...run.answers.values()].map(({ text }) => text)).toEqual([
      '1',
      'busy',
      'no answer from the service',
    ]);
    const again = run.run(run.failed);
    expect(sent[1]?.ids).toEqual(['b-1', 'b-2']);
    sent[1]?.fail(new Error('the service is down'));
    await again;
    expect(run.answers.get('b-0')?.state).toBe('done');
    expect(run.answers.get('b-2')).toEqual({ state: 'failed', text: 'the service is down' });
  });

  it('can be cancelled: what runs is aborted, and the rest is not sent', async () => {
    const { sent, send } = service();
    const run = new BulkRun(ids(260), send);
    const done = run.run();
    sent[0]?.answer(fine(sent[0]));
    await turn();
    run.cancel();
    await done;
    const texts = [...run.answers.values()].map(({ text }) => text);
    expect(
      texts.filter((text) => text === 'cancelled; the bot may already have run it'),
    ).toHaveLength(200);
    expect(texts.filter((text) => text === 'cancelled before it was sent')).toHaveLength(10);
    expect(run.failed).toHaveLength(210);
  });
});

it('commands are those of the kinds of the bots, and run only where they can', () => {
  const command = (args: object) => ({ description: '', args: args as KindInfo['config'] });
  const kind = (name: string, commands: KindInfo['commands']): KindInfo => ({
    kind: name,
    description: '',
    config: {},
    commands,
  });
  const say = command({ properties: { text: { type: 'string' } } });
  const kinds = [
    kind('a', { say, ping: command({}) }),
    kind('b', { say, ping: command({ required: ['n'] }) }),
    kind('c', { other: command({}) }),
  ];
  const bot = (
    id: string,
    of: string,
    status = 'fine',
    desired: 'running' | 'stopped' = 'running',
  ) => ({ id, kind: of, status, desired });
  const some = [
    bot('1', 'a'),
    bot('2', 'b'),
    bot('3', 'b', 'stopped', 'stopped'),
    bot('4', 'a', 'failed'),
    bot('5', 'd'),
  ];
  const shared = sharedCommands(some, kinds);
  expect(shared.map(({ name, kinds: of }) => [name, [...of]])).toEqual([
    ['say', ['a', 'b']],
    ['ping', ['a']],
    ['ping', ['b']],
  ]);
  expect(dryRun(some, { kinds: new Set(['a', 'b']) })).toEqual({
    targets: ['1', '2'],
    stopped: ['3', '4'],
    without: ['5'],
  });
});

describe('undo', () => {
  const bot = (status: string, desired: 'running' | 'stopped') => ({ status, desired });
  const before = new Map([
    ['runs', bot('fine', 'running')],
    ['failed', bot('failed', 'running')],
    ['stopped', bot('stopped', 'stopped')],
    ['stopping', bot('stopping', 'stopped')],
  ]);
  const all = [...before.keys(), 'unknown'];

  it('takes back only what has changed', () => {
    expect(undoOf('stop', all, before)).toMatchObject({ action: 'start', ids: ['runs', 'failed'] });
    expect(undoOf('start', all, before)).toMatchObject({
      action: 'stop',
      ids: ['stopped', 'stopping'],
    });
    expect(undoOf('stop', ['stopped'], before)).toBeUndefined();
    expect(undoOf('restart', all, before)).toBeUndefined();
    expect(undoOf('delete', all, before)).toBeUndefined();
    const known = new Map<string, NewBot>([['runs', { id: 'runs', kind: 'a' }]]);
    expect(undoOf('delete', all, before, known)).toEqual({
      action: 'create',
      ids: ['runs'],
      bots: [{ id: 'runs', kind: 'a' }],
    });
  });

  it('of a deletion needs everything that the bot was made from', async () => {
    const stored = (more: Partial<BotConfig>): BotConfig => ({
      config: { greeting: 'hi' },
      restart: { policy: 'never' } as BotConfig['restart'],
      dedicated: false,
      isolation: 'thread',
      host_group: null,
      quota: {},
      ...more,
    });
    const answers: Record<string, BotConfig> = {
      plain: stored({ secrets: [] }),
      grouped: stored({ secrets: [], host_group: 'g', node: 'n1' }),
      secret: stored({ secrets: ['password', 'proxy.key'] }),
      old: stored({}),
      held: stored({ secrets: [], quota: { cpu: 1 } }),
    };
    const some = [...Object.keys(answers), 'gone'].map((id) => ({
      id,
      kind: 'k',
      labels: { team: 'a' },
      desired: 'stopped' as const,
    }));
    const configOf = async (id: string): Promise<BotConfig> => {
      const found = answers[id];
      if (!found) throw new Error('no such bot');
      return found;
    };
    const { known, unknown } = await specificationsOf(some, configOf, false);
    expect(known.get('plain')).toEqual({
      id: 'plain',
      kind: 'k',
      labels: { team: 'a' },
      desired: 'stopped',
      config: { greeting: 'hi' },
      restart: { policy: 'never' },
      dedicated: false,
      isolation: 'thread',
    });
    expect(known.get('grouped')).toMatchObject({ host_group: 'g', node: 'n1' });
    expect(Object.fromEntries(unknown)).toEqual({
      secret: 'its secrets cannot be read (password, proxy.key)',
      old: 'the service does not say whether it has secrets',
      held: 'only the scope “admin” may set its quota',
      gone: 'no such bot',
    });
    const many = ids(MAX_KNOWN + 1).map((id) => ({
      id,
      kind: 'k',
      labels: {},
      desired: 'running' as const,
    }));
    const none = await specificationsOf(many, () => Promise.reject(new Error('not asked')), true);
    expect(none.known.size).toBe(0);
    expect(none.unknown.get('b-0')).toBe('of more than 100 bots at once');
  });
});
