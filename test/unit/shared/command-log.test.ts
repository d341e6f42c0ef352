import { expect, it } from 'vitest';
import { LastCommands } from '../../../src/main/threads/last-commands.js';
import { CommandLog } from '../../../src/shared/memory/command-log.js';

/** The log as the host has it, and as main has it. */
function logs(): { host: CommandLog; main: CommandLog } {
  const buffer = CommandLog.create();
  return { host: new CommandLog(buffer), main: new CommandLog(buffer) };
}

it('has the last twenty commands, oldest first', () => {
  const { host, main } = logs();
  expect(main.read()).toEqual([]);
  for (let number = 0; number < 50; number++) host.note(`say ${number}`, `bot-${number}`);
  expect(main.count).toBe(50);
  const last = Array.from({ length: 20 }, (_, n) => n + 30);
  expect(main.read()).toEqual(
    last.map((number) => ({ number, command: `say ${number}`, bot: `bot-${number}` })),
  );
});

it('keeps the longest names whole', () => {
  const { host, main } = logs();
  const [command, bot] = ['\u{1f600}'.repeat(128), 'b'.repeat(64)];
  host.note(command, bot);
  host.note('say', 'a');
  expect(main.read()).toMatchObject([
    { command, bot },
    { command: 'say', bot: 'a' },
  ]);
});

it('main forgets the commands of a bot until then, and no others', () => {
  const { host, main } = logs();
  const commands = new LastCommands(main);
  commands.forget('a');
  host.note('say', 'a');
  host.note('walk', 'b');
  commands.forget('a');
  host.note('wait', 'a');
  expect(commands.list()).toEqual(['walk on b', 'wait on a']);
  // Of bots without a command nothing is kept.
  for (let n = 0; n < 100; n++) commands.forget(`other-${n}`);
  expect(commands.list()).toEqual(['walk on b', 'wait on a']);
  for (let n = 0; n < 20; n++) host.note('say', 'a');
  expect(commands.list()).toEqual(Array.from({ length: 20 }, () => 'say on a'));
});
