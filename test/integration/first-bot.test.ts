// The README's section "Your first bot", as it stands there: its file, its start, its requests.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lineFrom, snapshotFrom, statusesOf, statusFrom, watch } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { Snapshot } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const section = /\n## Your first bot\n(.*?)\n## /s.exec(readme)?.[1] ?? '';

/** The first block of the section in this language that holds `text`. */
function block(language: string, text: string): string {
  const blocks = [...section.matchAll(/```(\w+)\n(.*?)```/gs)];
  const found = blocks.find(([, name, code]) => name === language && code?.includes(text))?.[2];
  if (found === undefined) throw new Error(`the section has no ${language} block with ${text}`);
  return found;
}

const code = block('js', 'defineBot');
const file = /^\/\/ (\S+)\n/.exec(code)?.[1] ?? '';

interface Request {
  path: string;
  body: Record<string, unknown>;
}

/** The requests of a block of curl commands, each with a body. */
function requests(text: string): Request[] {
  const commands = [...text.matchAll(/^curl http:\/\/localhost:8090(\S+) .*?-d '(.*?)'$/gms)];
  return commands.map(([, target = '', body = '']) => ({ path: target, body: JSON.parse(body) }));
}

let dir: string;
let service: Service;
let stream: SseStream;
beforeAll(async () => {
  dir = makeDir();
  mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
  writeFileSync(path.join(dir, file), code);
  // What \`npm install\` would do; within the checkout the name is found without it.
  mkdirSync(path.join(dir, 'node_modules'));
  symlinkSync(ROOT, path.join(dir, 'node_modules', 'drover'));
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  expect(scripts.start).toBe('node dist/src/cli.js');
  const [, flags = ''] = /^npm start -- (.*)$/m.exec(block('sh', 'npm start')) ?? [];
  service = await startService({ args: flags.split(' '), cwd: dir });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
  removeDir(dir);
});

async function send({ path: target, body }: Request): Promise<Response> {
  return fetch(service.url + target, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await service.token()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
}

it('is written in under 25 lines', () => {
  expect(code.trimEnd().split('\n').length).toBeLessThan(25);
});

it('runs, obeys its command, fails, and is restarted by its policy', async () => {
  const [create, command, ...others] = requests(block('sh', '/invoke'));
  if (!create || !command) throw new Error('the section has not two requests');
  expect(others).toEqual([]);
  const id = String(create.body['id']);

  expect((await send(create)).status).toBe(201);
  await statusFrom(stream, 0, id, 'counting');
  const answer = await send(command);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    { result: { left: expect.any(Number) } },
  ]);
  await lineFrom(stream, 0, (log) => log.scope === 'dispatch' && log.session_id === id);

  const waiting = await statusFrom(stream, 0, id, 'backoff', 30_000);
  expect(waiting.last_error).toBe('there is nothing left to count');
  const risen = (shown: Snapshot): boolean => shown.status === 'counting' && shown.restarts === 1;
  await snapshotFrom(stream, 0, id, risen, 30_000);
  expect(statusesOf(stream, id).slice(0, 5)).toEqual([
    'starting',
    'counting',
    'backoff',
    'starting',
    'counting',
  ]);
  // What the section shows of the stream.
  for (const [, message] of section.matchAll(/^data: .*"message":"(.*?)"\}$/gm)) {
    await lineFrom(stream, 0, (log) => log.session_id === id && log.message === message);
  }
});
