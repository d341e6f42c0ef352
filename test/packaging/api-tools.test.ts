// Programs of others read the description of the API: linters find nothing, and what generators make of it can be called. They
// are installed here and not with the project: together they are 320 packages, and they need an older TypeScript.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openApiDocument } from '../../src/front/reference/document.js';
import { NPM, NPM_INSTALL, ROOT } from '../harness/docs.js';

const run = promisify(execFile);

let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-api-tools-'));
  cpSync(path.join(ROOT, 'test/packaging/api-tools'), dir, { recursive: true });
  write('openapi.json', JSON.stringify(openApiDocument('0.1.0')));
  await run('npm', NPM_INSTALL, { cwd: dir, env: { ...process.env, ...NPM } });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const write = (file: string, text: string): void => writeFileSync(path.join(dir, file), text);

/** Runs an installed program. @returns all that it printed. Rejects with that if it fails. */
async function tool(name: string, ...args: string[]): Promise<string> {
  const file = path.join(dir, 'node_modules/.bin', name);
  // Some of them report to their makers.
  const env = { ...process.env, CI: '1', REDOCLY_TELEMETRY: 'off' };
  try {
    const { stdout, stderr } = await run(file, args, { cwd: dir, env });
    return stdout + stderr;
  } catch (fault) {
    const { stdout, stderr } = fault as { stdout: string; stderr: string };
    throw new Error(`${name} ${args.join(' ')}\n${stdout}${stderr}`);
  }
}

it('Redocly has no error and no warning', async () => {
  const said = await tool('redocly', 'lint', 'openapi.json');
  expect(said).toContain('Your API description is valid');
  expect(said).not.toMatch(/\d+ (error|warning)/);
});

it('Spectral has no error and no warning', async () => {
  const rules = {
    // There is no one to contact; a summary says what an operation does; bearer tokens have scopes since OpenAPI 3.1.
    'info-contact': 'off',
    'operation-description': 'off',
    'oas3-operation-security-defined': 'off',
  };
  write('.spectral.json', JSON.stringify({ extends: 'spectral:oas', rules }));
  expect(await tool('spectral', 'lint', 'openapi.json', '--fail-severity', 'hint')).toContain(
    'No results',
  );
});

it('types from openapi-typescript leave out what has a default', async () => {
  await tool('openapi-typescript', 'openapi.json', '-o', 'types.ts');
  write(
    'use-types.ts',
    `import type { components, paths } from './types.js';
export const bot: components['schemas']['CreateBot'] = { id: 'a', kind: 'synthetic' };
type Body = paths['/invoke']['post']['requestBody']['content']['application/json'];
export const command: Body = { session_id: 'a', command: 'say' };
export const page: paths['/api/events']['get']['parameters'] = {};
// @ts-expect-error a bot without a kind
export const wrong: components['schemas']['CreateBot'] = { id: 'a' };
`,
  );
  await tool('tsc', '--noEmit', '--strict', '--skipLibCheck', 'use-types.ts');
});

it('a client from @hey-api/openapi-ts sends the token in the header, and nowhere else', async () => {
  await tool('openapi-ts', '-i', 'openapi.json', '-o', 'client', '--no-log-file');
  write(
    'use-client.ts',
    `import { client } from './client/client.gen';
import * as sdk from './client/index';
client.setConfig({ baseUrl: process.argv[2] ?? '', auth: () => 'secret' });
sdk.createBot({ body: { id: 'a', kind: 'synthetic' } })
  .then(() => sdk.invoke({ body: { session_id: 'a', command: 'say' } }))
  .then(() => sdk.getBot({ path: { id: 'a' } }))
  .then(() => sdk.revokeToken({ path: { id: 't' } }))
  .then(() => sdk.pastEvents());
`,
  );
  const options = ['--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node'];
  const roots = ['--typeRoots', path.join(ROOT, 'node_modules/@types')];
  await tool(
    'tsc',
    '--module',
    'commonjs',
    ...options,
    ...roots,
    '--outDir',
    'js',
    'use-client.ts',
  );
  const requests: string[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    requests.push(`${method} ${url} ${headers.authorization}`);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await run(process.execPath, ['js/use-client.js', `http://127.0.0.1:${port}`], { cwd: dir });
  server.close();
  expect(requests).toEqual([
    'POST /api/bots Bearer secret',
    'POST /invoke Bearer secret',
    'GET /api/bots/a Bearer secret',
    'DELETE /api/tokens/t Bearer secret',
    'GET /api/events Bearer secret',
  ]);
});
