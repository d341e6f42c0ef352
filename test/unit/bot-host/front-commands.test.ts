// A bot host's end of the fronts' channels: real ports, a real host, and what it publishes.

import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FrontCommands } from '../../../src/bot-host/front-commands.js';
import { BotHost } from '../../../src/bot-host/host.js';
import type { Outbox } from '../../../src/bot-host/outbox.js';
import { type BotKind, defineBot, Type } from '../../../src/bot-sdk/index.js';
import {
  ANY_PERMIT,
  type CommandMessage,
  type CommandOutcome,
  eachOutcome,
  LATER,
  type OutcomeList,
  TAKEN,
} from '../../../src/shared/contract/command-messages.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { DroverError } from '../../../src/shared/errors.js';
import { partial } from '../../harness/partial.js';

/** Longer than any message here is on its way on a busy machine. */
const TIMEOUT_MS = 60_000;
/** Of the bot `a` at first. */
const PERMIT = 7;

/** What the signal of the last `wait` said. */
let heard: unknown;
const kind: BotKind = defineBot({
  kind: 'tried',
  config: Type.Object({}),
  commands: {
    echo: {
      args: Type.Object({ text: Type.String({ default: 'nothing' }) }),
      run(ctx, { text }) {
        ctx.log.info(`says ${text}`);
        return { said: text };
      },
    },
    later: { args: Type.Object({}), run: () => turn('later') },
    wait: {
      args: Type.Object({}),
      run: (ctx, _, call) =>
        new Promise<never>(() => {
          call.signal.addEventListener('abort', () => {
            heard = call.signal.reason;
            ctx.log.info('is told');
          });
        }),
    },
    copy: { args: Type.Object({}), run: (_, __, call) => ({ ...call }).signal.aborted },
    thenable: {
      args: Type.Object({}),
      // biome-ignore lint/suspicious/noThenProperty: bots return all kinds of values
      run: () => ({ then: (done: (value: unknown) => void) => done(Promise.resolve(7)) }) as never,
    },
    fail: {
      args: Type.Object({}),
      run() {
        throw new Error('it fails');
      },
    },
  },
  run: (ctx) => ctx.sleep(2 ** 30),
});

let items: Item[];
let noted: string[];
let exits: string[];
let host: BotHost;
let fronts: FrontCommands;
let front: MessagePort;
let lastId: number;
beforeEach(() => {
  items = [];
  noted = [];
  exits = [];
  lastId = 0;
  heard = undefined;
  const outbox = partial<Outbox>({
    add: (item: Item) => items.push(item),
    hasRoom: () => true,
    flush: () => {},
  });
  const limits = { botLinesPerSecond: 0, networkAllow: null, commandTimeoutMs: TIMEOUT_MS };
  const events = {
    exited: ({ id }: { id: string }) => void exits.push(`${id} after ${lines().length} lines`),
    ready: () => {},
    settled: () => {},
    lateError: () => {},
    flooded: () => {},
    wrote: () => {},
    offered: () => {},
    kindFailed: () => {},
  };
  const log = { note: (command: string, bot: string) => void noted.push(`${command} on ${bot}`) };
  host = new BotHost(new Map([['tried', kind]]), outbox, limits, events, log);
  host.start({ id: 'a', run: 1, kind: 'tried', config: {}, permit: PERMIT });
  fronts = new FrontCommands(host, TIMEOUT_MS);
  front = attach();
});
afterEach(async () => {
  vi.useRealTimers();
  await host.stop({ id: 'a', graceMs: 1000 });
  fronts.close();
});

function attach(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  fronts.attach(port1);
  return port2;
}

/** The bot's lines and those about its commands. */
function lines(): string[] {
  return items.flatMap((item) =>
    item.kind === 'log' && item.level !== 'state'
      ? [`${item.level} ${item.scope}: ${JSON.parse(item.message_json)}`]
      : [],
  );
}

/** Sends commands in one message. @returns their ids. */
function send(
  commands: [bot: string, command: string, args?: object, permit?: number][],
  ageMs = 0,
): number[] {
  const ids = commands.map(() => ++lastId);
  const message: CommandMessage = {
    type: 'run',
    sentAt: process.uptime() - ageMs / 1000,
    commands: commands.flatMap(([bot, command, args = {}, permit = ANY_PERMIT], n) => [
      ids[n] as number,
      bot,
      command,
      JSON.stringify(args),
      permit,
    ]),
  };
  front.postMessage(message);
  return ids;
}

/** The outcomes of the next message that has some. */
async function outcomes(): Promise<Map<number, CommandOutcome | null>> {
  const found = new Map<number, CommandOutcome | null>();
  while (found.size === 0) {
    const [list] = (await once(front, 'message')) as [OutcomeList];
    eachOutcome(list, (id, outcome) => found.set(id, outcome));
  }
  return found;
}

it('runs a command that was allowed under the labels that the bot has, and no other', async () => {
  const say = async (permit: number): Promise<CommandOutcome | null | undefined> => {
    const [id] = send([['a', 'echo', {}, permit]]);
    return (await outcomes()).get(id as number);
  };
  const said = '{"said":"nothing"}';
  expect(await say(PERMIT)).toBe(said);
  host.setPermit({ id: 'a', permit: PERMIT + 1 });
  expect(await say(PERMIT)).toBeNull();
  expect(await say(PERMIT + 1)).toBe(said);
  expect(await say(ANY_PERMIT)).toBe(said);
  expect(noted).toHaveLength(3);
});

it('outcomes of one message leave together, and each is on the stream after the bot’s own lines', async () => {
  const [echo, thrown, missing, wrong, elsewhere] = send([
    ['a', 'echo', { text: 'hello' }],
    ['a', 'fail'],
    ['a', 'dance'],
    ['a', 'echo', { text: 7 }],
    ['b', 'echo'],
  ]);
  const known = 'bots of kind tried have: echo, later, wait, copy, thenable, fail';
  expect([...(await outcomes())]).toEqual([
    [echo, '{"said":"hello"}'],
    [thrown, new DroverError('command_failed', 'it fails')],
    [missing, new DroverError('not_found', `no command "dance"; ${known}`)],
    [wrong, new DroverError('bad_request', 'args.text must be string')],
    [elsewhere, null],
  ]);
  expect(lines()).toEqual([
    'info bot: says hello',
    'info dispatch: echo -> {"said":"hello"}',
    'error dispatch: fail failed: it fails',
    `error dispatch: dance failed: no command "dance"; ${known}`,
    'error dispatch: echo failed: args.text must be string',
  ]);
  // Commands that were not run are not noted.
  expect(noted).toEqual(['echo on a', 'fail on a']);
});

it('answers each message at once, also when its commands take longer', async () => {
  const [id] = send([['a', 'later']]);
  const [first] = (await once(front, 'message')) as [OutcomeList];
  const [second] = (await once(front, 'message')) as [OutcomeList];
  expect([first, second]).toEqual([[TAKEN], [LATER, id, 'result', '"later"']]);
});

it('defaults are filled in, promises and copies of the third argument work', async () => {
  const ids = send([
    ['a', 'echo'],
    ['a', 'copy'],
    ['a', 'later'],
    ['a', 'thenable'],
  ]);
  const all = new Map<number, CommandOutcome | null>();
  while (all.size < ids.length) for (const [id, one] of await outcomes()) all.set(id, one);
  expect(ids.map((id) => all.get(id))).toEqual(['{"said":"nothing"}', 'false', '"later"', '7']);
});

it('a command that takes too long fails, and its signal is aborted', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const [id] = send([['a', 'wait']]);
  send([['a', 'later']]);
  await outcomes();
  vi.advanceTimersByTime(TIMEOUT_MS);
  const error = new DroverError('no_answer', `wait did not answer within ${TIMEOUT_MS} ms`);
  expect(await outcomes()).toEqual(new Map([[id, error]]));
  expect(heard).toEqual(error);
  expect(lines()).toEqual([
    'info dispatch: later -> "later"',
    'info bot: is told',
    `error dispatch: wait failed: ${error.message}`,
  ]);
});

it('a cancelled command fails, and its signal is aborted', async () => {
  const [id] = send([['a', 'wait']]) as [number];
  const cancel: CommandMessage = { type: 'cancel', id };
  front.postMessage(cancel);
  const reason = 'the client has gone, the command is cancelled';
  expect(await outcomes()).toEqual(new Map([[id, new DroverError('no_answer', reason)]]));
  expect((heard as Error).message).toBe('nobody waits for the answer any more');
  expect(lines()).toEqual(['info bot: is told', `error dispatch: wait failed: ${reason}`]);
  // One that has its outcome is not affected.
  const [echo] = send([['a', 'echo']]) as [number];
  await outcomes();
  front.postMessage({ type: 'cancel', id: echo });
  const [next] = send([['a', 'echo']]);
  expect(await outcomes()).toEqual(new Map([[next, '{"said":"nothing"}']]));
});

it('the commands of a front that is gone are cancelled', async () => {
  const other = front;
  send([['a', 'wait']]);
  send([['a', 'echo']]);
  await outcomes();
  front = attach();
  other.close();
  const [echo] = send([['a', 'echo']]);
  expect(await outcomes()).toEqual(new Map([[echo, '{"said":"nothing"}']]));
  const cancelled = 'error dispatch: wait failed: the client has gone, the command is cancelled';
  while (!lines().includes(cancelled)) await turn();
});

it('a command that was sent so long ago that nobody waits is not run', async () => {
  const [id, elsewhere] = send(
    [
      ['a', 'echo'],
      ['b', 'echo'],
    ],
    TIMEOUT_MS,
  );
  const error = new DroverError('no_answer', `echo did not answer within ${TIMEOUT_MS} ms`);
  expect([...(await outcomes())]).toEqual([
    [id, error],
    [elsewhere, null],
  ]);
  expect(lines()).toEqual([`error dispatch: echo failed: ${error.message}`]);
  expect(noted).toEqual([]);
});

it('a bot that is stopped: its command fails before the stop is answered, later ones are not run', async () => {
  const [id] = send([['a', 'wait']]);
  send([['a', 'echo']]);
  await outcomes();
  const stopped = host.stop({ id: 'a', graceMs: 1000 });
  // In the same turn: nothing that the end of the run publishes can come before it.
  expect(lines().at(-1)).toBe('error dispatch: wait failed: bot a has stopped');
  expect(await outcomes()).toEqual(
    new Map([[id, new DroverError('conflict', 'bot a has stopped')]]),
  );
  await stopped;
  const [late] = send([['a', 'echo']]);
  expect(await outcomes()).toEqual(new Map([[late, null]]));
});

it('the line about a command that its bot’s end interrupts is published before that end', async () => {
  const ending = defineBot({
    kind: 'ending',
    config: Type.Object({}),
    commands: { wait: kind.commands['wait'] as never },
    run: (ctx) => new Promise((_, reject) => ctx.after(20, () => reject(new Error('over')))),
  });
  const quiet = { add: (item: Item) => items.push(item), hasRoom: () => true, flush() {} };
  const limits = { botLinesPerSecond: 0, networkAllow: null, commandTimeoutMs: TIMEOUT_MS };
  const exited = new Promise<number>((resolve) => {
    const events = {
      exited: () => resolve(lines().length),
      ready: () => {},
      settled: () => {},
      lateError: () => {},
      flooded: () => {},
      wrote: () => {},
      offered: () => {},
      kindFailed: () => {},
    };
    const own = new BotHost(new Map([['ending', ending]]), partial<Outbox>(quiet), limits, events, {
      note: () => {},
    });
    own.start({ id: 'e', run: 2, kind: 'ending', config: {} });
    own.dispatch({ bot: 'e', command: 'wait', args: '{}', permit: ANY_PERMIT }, () => {});
  });
  expect(await exited).toBe(2);
  expect(lines()).toEqual(['info bot: is told', 'error dispatch: wait failed: bot e has stopped']);
});
