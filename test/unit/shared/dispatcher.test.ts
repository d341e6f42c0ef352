// Which way a command takes: to the host that is known, or to where main says; again when the bot is not there any more.

import { expect, it, vi } from 'vitest';
import { type CommandRequest, Dispatcher } from '../../../src/shared/commands/dispatcher.js';
import type { BotCommand, CommandClient } from '../../../src/shared/commands/host-commands.js';
import { ANY_PERMIT } from '../../../src/shared/contract/command-messages.js';
import type { CommandTarget } from '../../../src/shared/contract/threads.js';
import type { Reach } from '../../../src/shared/contract/tokens.js';
import { DroverError } from '../../../src/shared/errors.js';

const TEAM: Reach = { labels: { team: 'x' } };
const NO_BOT = { error: new DroverError('not_found', 'no bot "a"').toPlain() };

/** @param told what main answers, in turn. @param results what the hosts answer; a command without one has no outcome yet. */
function dispatching({
  known = {},
  told = [],
  results = {},
  full = [],
}: {
  known?: Record<string, number>;
  told?: CommandTarget[][];
  results?: Record<string, (string | null | DroverError)[]>;
  full?: number[];
}) {
  const sent: (BotCommand & { host: number })[] = [];
  const clients: CommandClient[] = [];
  const left = vi.fn();
  const failed = vi.fn();
  const targets = vi.fn((_: { bots: string[] }) => told.shift() as CommandTarget[]);
  const dispatcher = new Dispatcher({
    hosts: {
      hasRoom: (host) => !full.includes(host),
      async run(host, command, client) {
        sent.push({ host, ...command });
        clients.push(client);
        client.onGone(() => left(command.bot));
        const result = results[command.bot]?.shift() ?? null;
        if (result instanceof DroverError) throw result;
        return result;
      },
    },
    targets,
    failed,
    hostOf: (bot) => known[bot] ?? null,
  });
  const elsewhere = vi.fn<CommandRequest['elsewhere']>();
  let leave = (): void => {};
  const ask = async (
    session_id: string | string[],
    reach: Reach = null,
    scopes: ['invoke'] = ['invoke'],
  ): Promise<unknown> =>
    JSON.parse(
      await dispatcher.invoke({
        call: { session_id, command: 'say', args: { text: 'hi' } },
        rights: { scopes, reach },
        client: { onGone: (gone) => (leave = gone) },
        elsewhere,
      }),
    );
  return { ask, sent, targets, failed, elsewhere, left, leave: () => leave() };
}

it('sends commands of tokens that labels do not limit where the bots are, without main', async () => {
  const known = { a: 1, b: 2 };
  const results = { a: ['1', '2'], b: ['3'] };
  const { ask, sent, targets } = dispatching({ known, results });
  expect(await ask('a')).toEqual({ result: 1 });
  expect(await ask(['a', 'b', 'a'], { bots: ['a', 'b'] })).toEqual({
    results: { a: { result: 2 }, b: { result: 3 } },
  });
  const say = { command: 'say', args: '{"text":"hi"}', permit: ANY_PERMIT };
  expect(sent).toEqual([
    { ...say, host: 1, bot: 'a' },
    { ...say, host: 1, bot: 'a' },
    { ...say, host: 2, bot: 'b' },
  ]);
  expect(targets).not.toHaveBeenCalled();
});

it('asks main once for all bots of a token that is limited by labels, and sends what it allows with its permit', async () => {
  const told = [[{ host: 1, permit: 5 }, NO_BOT, { host: 2, permit: 6 }]];
  const results = { b: ['1'], c: [new DroverError('command_failed', 'no voice')] };
  const { ask, sent, targets } = dispatching({ known: { a: 1, b: 1, c: 2 }, told, results });
  expect(await ask(['b', 'a', 'c'], TEAM)).toEqual({
    results: { b: { result: 1 }, a: { error: 'no bot "a"' }, c: { error: 'no voice' } },
  });
  expect(targets.mock.calls.map(([{ bots }]) => bots)).toEqual([['b', 'a', 'c']]);
  expect(sent).toMatchObject([
    { bot: 'b', permit: 5 },
    { bot: 'c', permit: 6 },
  ]);
});

it('asks main again when the labels have changed on the way: what it does not allow any more is not run', async () => {
  const told = [[{ host: 1, permit: 5 }], [NO_BOT]];
  const { ask, sent, failed } = dispatching({ told, results: { a: [null, '1'] } });
  await expect(ask('a', TEAM)).rejects.toMatchObject({ status: 404, message: 'no bot "a"' });
  expect(sent).toHaveLength(1);
  // Main has said so, or the caller must not learn of it.
  expect(failed).not.toHaveBeenCalled();
});

it('follows a bot that has moved, and gives up when it is nowhere', async () => {
  const at = (host: number): CommandTarget[] => [{ host, permit: 5 }];
  const moved = dispatching({ known: { a: 1 }, told: [at(2)], results: { a: [null, '1'] } });
  expect(await moved.ask('a')).toEqual({ result: 1 });
  expect(moved.sent.map(({ host }) => host)).toEqual([1, 2]);
  const lost = dispatching({ told: [at(1), at(2), at(3)] });
  await expect(lost.ask('a')).rejects.toMatchObject({
    code: 'conflict',
    message: 'bot a is not running',
  });
  expect(lost.failed.mock.calls).toEqual([
    [{ bot: 'a', command: 'say', reason: 'bot a is not running' }],
  ]);
});

it('has main ask other nodes for their bots, in one call', async () => {
  const away = { isElsewhere: true } as const;
  const { ask, elsewhere } = dispatching({
    known: { b: 1 },
    told: [[away, away], [away]],
    results: { b: ['2'] },
  });
  elsewhere.mockResolvedValueOnce({ results: { a: { result: 1 }, c: { error: 'no voice' } } });
  expect(await ask(['a', 'b', 'c'])).toEqual({
    results: { a: { result: 1 }, b: { result: 2 }, c: { error: 'no voice' } },
  });
  elsewhere.mockResolvedValueOnce({ result: 4 });
  expect(await ask('a')).toEqual({ result: 4 });
  expect(elsewhere.mock.calls).toEqual([[['a', 'c']], ['a']]);
  elsewhere.mockRejectedValueOnce(new DroverError('unavailable', 'node n2 does not answer'));
  const none = dispatching({ told: [[away]] });
  none.elsewhere.mockRejectedValueOnce(new DroverError('unavailable', 'node n2 is away'));
  expect(await none.ask(['a'])).toEqual({ results: { a: { error: 'node n2 is away' } } });
});

it('a host without room refuses the request, and takes all commands of a list if it has room', async () => {
  const known = { a: 1, b: 2, c: 2 };
  const { ask, sent } = dispatching({ known, full: [1], results: { b: ['1'], c: ['2'] } });
  await expect(ask('a')).rejects.toMatchObject({ code: 'overloaded', retryAfterS: 1 });
  expect(await ask(['a', 'b', 'c'])).toEqual({
    results: { a: { error: expect.any(String) }, b: { result: 1 }, c: { result: 2 } },
  });
  expect(sent.map(({ bot }) => bot)).toEqual(['b', 'c']);
});

it('tells all commands of a list that their client has gone', async () => {
  const results = { a: ['1'], b: ['2'] };
  const { ask, left, leave } = dispatching({ known: { a: 1, b: 1 }, results });
  await ask(['a', 'b']);
  leave();
  expect(left.mock.calls).toEqual([['a'], ['b']]);
});
