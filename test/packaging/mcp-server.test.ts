// An MCP server of others, as it comes from the registry, is a bot: its tools are commands.

import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create, invoke, statusFrom, watch } from '../harness/bots.js';
import { NPM, NPM_INSTALL, ROOT } from '../harness/docs.js';
import { type Service, startService, stopClean } from '../harness/service.js';

let dir: string;
let service: Service;

beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-mcp-'));
  cpSync(path.join(ROOT, 'test/packaging/mcp-server'), dir, { recursive: true });
  const env = { ...process.env, ...NPM };
  await promisify(execFile)('npm', NPM_INSTALL, { cwd: dir, env });
  const file = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
  service = await startService({
    config: {
      programs: { everything: { command: [process.execPath, file], cwd: dir, protocol: 'mcp' } },
    },
  });
});
afterAll(async () => {
  await stopClean(service);
  rmSync(dir, { recursive: true, force: true });
});

it('has its tools as commands, with their schemas', async () => {
  const stream = await watch(service);
  await create(service, { id: 'server', kind: 'everything' });
  await statusFrom(stream, 0, 'server', 'running');
  const { kinds } = (await call(service, 'GET', '/api/kinds')).json as {
    kinds: { kind: string; commands: Record<string, { args: object }> }[];
  };
  const commands = kinds.find(({ kind }) => kind === 'everything')?.commands ?? {};
  expect(commands['echo']?.args).toMatchObject({ properties: { message: { type: 'string' } } });
  const echo = await invoke(service, 'server', 'echo', { message: 'hello' });
  expect(echo.json).toEqual({ result: { content: [{ type: 'text', text: 'Echo: hello' }] } });
  const sum = await invoke(service, 'server', 'get-sum', { a: 2, b: 40 });
  expect(JSON.stringify(sum.json)).toContain('42');
  expectError(await invoke(service, 'server', 'get-sum', { a: 'two', b: 40 }), 400, /\ba\b/);
  stream.close();
});
