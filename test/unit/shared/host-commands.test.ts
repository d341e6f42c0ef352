// A thread's channels to bot hosts: real ports, and a host at the other end that answers when it is told to.

import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, expect, it, vi } from 'vitest';
import { type BotCommand, HostCommands } from '../../../src/shared/commands/host-commands.js';
import {
  ANY_PERMIT,
  addOutcome,
  type CommandMessage,
  type CommandOutcome,
  ENDED,
  eachCommand,
  LATER,
  type OutcomeList,
  TAKEN,
} from '../../../src/shared/contract/command-messages.js';
import { DroverError } from '../../../src/shared/errors.js';
import { PATIENCE_MS } from '../../harness/patience.js';

const MAX_WAITING = 3;
const TIMEOUT_MS = 1000;
/** When the front gives up: the host has a little more time than the command. */
const GIVE_UP_MS = 1100;
const HOST = 4;
const SAY: BotCommand = {
  bot: 'a',
  command: 'say',
  args: '{"text":"hello"}',
  permit: ANY_PERMIT,
};

let hosts: HostCommands | undefined;
const ports: MessagePort[] = [];
afterEach(() => {
  vi.useRealTimers();
  hosts?.detach();
  for (const port of ports.splice(0)) port.close();
});

/** A client that can hang up. */
class Client {
  leave = (): void => {};

  onGone(left: () => void): void {
    this.leave = left;
  }
}

interface Asked {
  id: number;
  bot: string;
  command: string;
  args: unknown;
  permit: number;
}

/** The host's end of a channel. */
class FakeHost {
  readonly port: MessagePort;
  readonly asked: Asked[] = [];
  readonly cancelled: number[] = [];
  messages = 0;
  /** It does not take messages: its loop is blocked, as far as the front can tell. */
  isBlocked = false;

  constructor(port: MessagePort) {
    this.port = port;
    port.on('message', (message: CommandMessage) => {
      this.messages += 1;
      if (message.type === 'cancel') {
        this.cancelled.push(message.id);
        return;
      }
      eachCommand(message.commands, (id, bot, command, args, permit) =>
        this.asked.push({ id, bot, command, args: JSON.parse(args), permit }),
      );
      if (!this.isBlocked) this.take();
    });
  }

  /** It has taken a message; outcomes follow. */
  take(): void {
    this.port.postMessage([TAKEN]);
  }

  answer(...outcomes: [id: number, outcome: CommandOutcome | null][]): void {
    const list: OutcomeList = [LATER];
    for (const [id, outcome] of outcomes) addOutcome(list, id, outcome);
    this.port.postMessage(list);
  }

  /** Resolves with the next message in its list. */
  async next(): Promise<void> {
    await once(this.port, 'message');
  }
}

/** A thread that has a channel to the host. */
async function connected() {
  const failed = vi.fn();
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const host = new FakeHost(port1);
  const connect = vi.fn(async () => port2);
  hosts = new HostCommands({ connect, failed, timeoutMs: TIMEOUT_MS, maxWaiting: MAX_WAITING });
  const commands = hosts;
  const run = (command = SAY, client = new Client()): Promise<string | null> =>
    commands.run(HOST, command, client);
  return { commands, host, run, failed, connect };
}

it('sends the commands of one turn in one message, and gives each its outcome', async () => {
  const { host, run } = await connected();
  const answers = [run(), run({ ...SAY, bot: 'b' }), run({ ...SAY, command: 'walk' })];
  await host.next();
  expect(host.messages).toBe(1);
  expect(host.asked).toMatchObject([
    { bot: 'a', command: 'say', args: { text: 'hello' }, permit: ANY_PERMIT },
    { bot: 'b' },
    { command: 'walk' },
  ]);
  const [a, b, c] = host.asked.map(({ id }) => id) as [number, number, number];
  host.answer([b, new DroverError('command_failed', 'no voice')], [c, null], [a, '{"said":"x"}']);
  const outcomes = await Promise.allSettled(answers);
  expect(outcomes).toMatchObject([
    { value: '{"said":"x"}' },
    { reason: { code: 'command_failed', status: 500, message: 'no voice' } },
    { value: null },
  ]);
});

it('commands of a host that ends in order were not begun, and the next one asks for another channel', async () => {
  const { host, run, connect, failed } = await connected();
  const answers = [run(), run({ ...SAY, bot: 'b' })];
  await host.next();
  const [a] = host.asked.map(({ id }) => id) as [number];
  host.answer([a, '{}']);
  const late = run({ ...SAY, bot: 'c' });
  host.port.postMessage([ENDED]);
  host.port.close();
  expect(await Promise.all([...answers, late])).toEqual(['{}', null, null]);
  expect(failed).not.toHaveBeenCalled();
  connect.mockRejectedValueOnce(new Error('bot host 3 is gone'));
  await expect
    .poll(async () => {
      expect(await run()).toBeNull();
      return connect.mock.calls.length;
    })
    .toBe(2);
});

it('has no room above the bound, and has it again when a command has its outcome', async () => {
  const { host, run, commands } = await connected();
  const first = run();
  const others = [run()];
  expect(commands.hasRoom(HOST)).toBe(true);
  others.push(run());
  expect(commands.hasRoom(HOST)).toBe(false);
  await host.next();
  host.answer([host.asked[0]?.id as number, '1']);
  expect(await first).toBe('1');
  expect(commands.hasRoom(HOST)).toBe(true);
  others.push(run());
  await host.next();
  host.answer(...host.asked.slice(1).map(({ id }): [number, string] => [id, '2']));
  expect(await Promise.all(others)).toEqual(['2', '2', '2']);
});

it('sends what has come while the host had not taken the last message in one message', async () => {
  const { host, run } = await connected();
  host.isBlocked = true;
  const first = run();
  await host.next();
  const others = [run(), run({ ...SAY, bot: 'b' })];
  await turn();
  await turn();
  expect(host.messages).toBe(1);
  host.isBlocked = false;
  host.take();
  await host.next();
  expect(host.messages).toBe(2);
  expect(host.asked.map(({ bot }) => bot)).toEqual(['a', 'a', 'b']);
  host.answer(...host.asked.map(({ id }): [number, string] => [id, '1']));
  expect(await Promise.all([first, ...others])).toEqual(['1', '1', '1']);
});

it('a client that hangs up cancels its command, which counts until the host has said what became of it', async () => {
  const { host, run, failed, commands } = await connected();
  const client = new Client();
  const answer = run(SAY, client);
  await host.next();
  client.leave();
  await expect(answer).rejects.toThrow('the client has gone, the command is cancelled');
  await host.next();
  expect(host.cancelled).toEqual(host.asked.map(({ id }) => id));
  const others = [run(), run()];
  expect(commands.hasRoom(HOST)).toBe(false);
  await host.next();
  host.answer(...host.asked.map(({ id }): [number, string] => [id, '1']));
  await Promise.all(others);
  // The host has put the outcome on the stream.
  expect(failed).not.toHaveBeenCalled();
  // Once it is over, nothing is cancelled.
  client.leave();
  const last = run();
  await host.next();
  host.answer([host.asked.at(-1)?.id as number, '3']);
  await last;
  expect(host.cancelled).toHaveLength(1);
});

it('main hears of a command that nobody ran after its client had hung up', async () => {
  const { host, run, failed } = await connected();
  const [client, late] = [new Client(), new Client()];
  host.isBlocked = true;
  const answer = run(SAY, client);
  await host.next();
  const unsent = run({ ...SAY, bot: 'b' }, late);
  late.leave();
  await expect(unsent).rejects.toThrow('the client has gone');
  const reason = 'the client has gone, the command is cancelled';
  expect(failed.mock.calls).toEqual([[{ bot: 'b', command: 'say', reason }]]);
  client.leave();
  await expect(answer).rejects.toThrow('the client has gone');
  host.answer([host.asked[0]?.id as number, null]);
  await vi.waitFor(() => expect(failed).toHaveBeenCalledTimes(2), PATIENCE_MS);
  expect(failed).toHaveBeenLastCalledWith({ bot: 'a', command: 'say', reason });
  expect(host.asked).toHaveLength(1);
});

it('a host that does not answer in time: its clients get 504, and the stream what the host says later', async () => {
  const { host, run, failed } = await connected();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  host.isBlocked = true;
  const answer = run();
  await host.next();
  const unsent = run({ ...SAY, command: 'walk' });
  const rejected = expect(answer).rejects.toMatchObject({
    code: 'no_answer',
    status: 504,
    message: 'say did not answer within 1000 ms',
  });
  vi.advanceTimersByTime(GIVE_UP_MS);
  await rejected;
  await expect(unsent).rejects.toThrow('walk did not answer within 1000 ms');
  // What it has not got it will not run.
  const reason = 'walk did not answer within 1000 ms';
  expect(failed.mock.calls).toEqual([[{ bot: 'a', command: 'walk', reason }]]);
  host.isBlocked = false;
  host.take();
  const next = run();
  await host.next();
  host.answer(...host.asked.map(({ id }): [number, string] => [id, '1']));
  expect(await next).toBe('1');
  expect(host.asked.map(({ command }) => command)).toEqual(['say', 'say']);
  expect(failed).toHaveBeenCalledTimes(1);
});

it('a host that is lost: its commands fail, main hears of them, and the next host is asked for', async () => {
  const { host, run, failed, connect } = await connected();
  const client = new Client();
  const left = run(SAY, client);
  await host.next();
  client.leave();
  await expect(left).rejects.toThrow('the client has gone');
  const open = run({ ...SAY, bot: 'b' });
  const isOver = expect(open).rejects.toMatchObject({
    code: 'unavailable',
    message: 'bot host 4 was lost',
  });
  host.port.close();
  await isOver;
  expect(failed.mock.calls).toEqual([
    [{ bot: 'a', command: 'say', reason: 'the client has gone, the command is cancelled' }],
    [{ bot: 'b', command: 'say', reason: 'bot host 4 was lost' }],
  ]);
  void run();
  expect(connect).toHaveBeenCalledTimes(2);
});

it('commands that come before the channel wait for it, and leave in one message', async () => {
  const { host, run, connect } = await connected();
  const answers = [run(), run()];
  expect(connect.mock.calls).toEqual([[HOST]]);
  await host.next();
  expect(host.messages).toBe(1);
  host.answer(...host.asked.map(({ id }): [number, string] => [id, '1']));
  expect(await Promise.all(answers)).toEqual(['1', '1']);
});

it('a channel that main refuses: the command may go elsewhere, and the next one asks again', async () => {
  const connect = vi.fn(() => Promise.reject(new DroverError('unavailable')));
  const failed = vi.fn();
  hosts = new HostCommands({ connect, failed, timeoutMs: TIMEOUT_MS, maxWaiting: 1 });
  expect(await hosts.run(HOST, SAY, new Client())).toBeNull();
  expect(await hosts.run(HOST, SAY, new Client())).toBeNull();
  expect(connect).toHaveBeenCalledTimes(2);
  expect(failed).not.toHaveBeenCalled();
});

it('a channel that does not come in time: the command fails, and is not sent later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const host = new FakeHost(port1);
  let give = (_: MessagePort): void => {};
  const connect = (): Promise<MessagePort> => new Promise((resolve) => (give = resolve));
  const failed = vi.fn();
  hosts = new HostCommands({ connect, failed, timeoutMs: TIMEOUT_MS, maxWaiting: 1 });
  const late = hosts.run(HOST, SAY, new Client());
  vi.advanceTimersByTime(GIVE_UP_MS);
  await expect(late).rejects.toMatchObject({ code: 'no_answer' });
  expect(failed).toHaveBeenCalledTimes(1);
  give(port2);
  void hosts.run(HOST, { ...SAY, bot: 'b' }, new Client());
  await host.next();
  expect(host.asked.map(({ bot }) => bot)).toEqual(['b']);
});

it('a host that main tells of is lost at once, also when its thread does not exit', async () => {
  const { host, run, failed, commands, connect } = await connected();
  const open = run();
  await host.next();
  commands.detachHost(HOST);
  await expect(open).rejects.toMatchObject({
    code: 'unavailable',
    message: 'bot host 4 was lost',
  });
  expect(failed).toHaveBeenCalledTimes(1);
  void run();
  expect(connect).toHaveBeenCalledTimes(2);
  commands.detachHost(5);
});
