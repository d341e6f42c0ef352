import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBot } from 'drover/bot-sdk/testing';
import kind from './NAME.mts';

test('it greets at intervals, until it is stopped', async () => {
  const bot = await startBot(kind, { config: { every_ms: 1000 } });
  assert.equal(bot.status, 'greeting');
  assert.deepEqual(bot.data, { greeted: 1 });
  await bot.advance(2000);
  assert.deepEqual(bot.data, { greeted: 3 });
  await bot.stop();
});

test('the command greets a person by name', async () => {
  const bot = await startBot(kind, { config: { greeting: 'hi' } });
  assert.deepEqual(await bot.invoke('greet', { name: 'anna' }), { text: 'hi, anna' });
  assert.deepEqual(bot.messages('info'), ['hi, anna']);
  await assert.rejects(bot.invoke('greet'), /args\.name is missing/);
  await bot.stop();
});
