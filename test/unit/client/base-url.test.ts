import { expect, it } from 'vitest';
import { DroverClient } from '../../../src/client/index.js';

it.each([
  ['https://bots.example', 'https://bots.example/health'],
  ['https://bots.example/', 'https://bots.example/health'],
  ['https://bots.example/drover', 'https://bots.example/drover/health'],
  ['https://bots.example/a/drover//', 'https://bots.example/a/drover/health'],
])('%s: a service under a path is asked there', async (url, asked) => {
  const targets: string[] = [];
  const client = new DroverClient({
    url,
    fetch: async (target) => {
      targets.push(target);
      return new Response('ok');
    },
  });
  await client.withToken('t').health();
  expect(targets).toEqual([asked]);
});
