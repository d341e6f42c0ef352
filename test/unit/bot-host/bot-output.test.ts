// What bots print: lines of the bot that runs. What other code prints stays where it was.

import { Console } from 'node:console';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { captureConsole, captureWrites } from '../../../src/bot-host/bot-output.js';
import { runAsBot } from '../../../src/bot-host/current-bot.js';
import { Type } from '../../../src/bot-sdk/index.js';
import type { Item } from '../../../src/shared/contract/events.js';
import { start } from './started-run.js';

const password = 'hunter2-of-anna';

function startWithPassword(): ReturnType<typeof start> {
  const config = Type.Object({ password: Type.String({ writeOnly: true }) });
  return start({ config }, { password });
}

const lines = (items: readonly Item[]): string[] =>
  items.flatMap((item) =>
    item.kind === 'log' ? [`${item.scope} ${item.level} ${JSON.parse(item.message_json)}`] : [],
  );

it('console: the lines of the bot that runs, without its secrets', async () => {
  const printed = new PassThrough();
  const printer = new Console(printed);
  captureConsole(printer);
  const { bot, items } = startWithPassword();
  printer.log('before');
  runAsBot(bot, () => {
    printer.log('%s and', 'one', { two: 2 });
    printer.info('three');
    printer.debug('four');
    printer.warn('five');
    printer.error('six');
    printer.dir({ seven: 7 }, { depth: 0 });
    printer.assert(1 > 2, 'eight');
    printer.count('nine');
    printer.group('ten');
    printer.log(`with ${password}`);
    printer.table([{ a: 11 }]);
    printer.time('twelve');
    printer.timeEnd('twelve');
    printer.trace('thirteen');
  });
  await runAsBot(bot, async () => {
    await null;
    printer.log('later');
  });
  printer.log('after');
  const said = lines(items);
  expect(said.slice(0, 10)).toEqual([
    'console info one and { two: 2 }',
    'console info three',
    'console info four',
    'console warn five',
    'console error six',
    'console info { seven: 7 }',
    'console warn Assertion failed: eight',
    'console info nine: 1',
    'console info ten',
    'console info with ***',
  ]);
  expect(said[10]).toMatch(/^console info ┌.*a.*11/s);
  expect(said[11]).toMatch(/^console info twelve: [\d.]+ms$/);
  expect(said[12]).toMatch(/^console error Trace: thirteen\n +at /);
  expect(said[13]).toBe('console info later');
  expect(String(printed.read())).toMatch(/^before\n *after\n$/);
});

it('standard output: the lines of the bot that runs, without its secrets', async () => {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream & PassThrough;
  captureWrites(stream, 'stdout', 'info');
  const { bot, items } = startWithPassword();
  stream.write('before\n');
  const written = new Promise<void>((resolve) => {
    runAsBot(bot, () => {
      stream.write(`it is ${password}\r\n`);
      stream.write(Buffer.from('bytes'), 'utf8', () => resolve());
    });
  });
  await written;
  stream.write('after');
  expect(lines(items)).toEqual(['stdout info it is ***', 'stdout info bytes']);
  expect(String(stream.read())).toBe('before\nafter');
});
