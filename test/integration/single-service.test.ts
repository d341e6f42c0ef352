// A single service loads nothing of a cluster, in no thread, also when it is asked for what a cluster has.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { create, eventually, POST, snapshot, watch } from '../harness/bots.js';
import { makeDir, removeDir, startService, stopClean } from '../harness/service.js';

const DIST = new URL('../../dist/', import.meta.url);
const OF_THE_CLUSTER = /^src\/cluster\/(bus|control|wire)\//;
const THREADS = ['bot-host', 'broadcaster', 'front', 'journal', 'rules'];

/** The built files that Node has loaded, in all threads: each writes its coverage when it ends. */
function loadedIn(dir: string): Set<string> {
  const files = readdirSync(dir).map((name) => readFileSync(path.join(dir, name), 'utf8'));
  const urls = files.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url),
  );
  const built = urls.filter((url) => url.startsWith(DIST.href));
  return new Set(built.map((url) => new URL(url).pathname.slice(DIST.pathname.length)));
}

/** The modules that a built file was built from. */
function sourcesOf(file: string): string[] {
  const map = fileURLToPath(new URL(`${file}.map`, DIST));
  if (!existsSync(map)) return [file];
  const { sources } = JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] };
  return sources.map((source) => path.posix.join(path.posix.dirname(file), source));
}

const ofTheCluster = (file: string): string[] =>
  sourcesOf(file).filter((source) => OF_THE_CLUSTER.test(source));

it('a single service loads no module of a cluster', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const service = await startService({ env: { NODE_V8_COVERAGE: dir } });
  onTestFinished(() => stopClean(service));
  const rule = { name: 'r', query: 'kind:synthetic', condition: 'bots', threshold: 3 };
  expect((await POST(service, '/api/rules', rule)).status).toBe(201);
  expect((await create(service, { id: 'a', kind: 'synthetic' })).status).toBe(201);
  await eventually(async () => (await snapshot(service, 'a')).status === 'running', 'a bot');
  const stream = await watch(service);
  for (const what of ['events', 'states', 'stats', 'nodes', 'tokens', 'incidents', 'pressure'])
    await call(service, 'GET', `/api/${what}`);
  await call(service, 'GET', '/api/events?node=self');
  await call(service, 'GET', '/metrics');
  stream.close();
  await stopClean(service);
  const loaded = loadedIn(dir);
  expect(THREADS.filter((thread) => !loaded.has(`workers/${thread}.js`))).toEqual([]);
  expect(ofTheCluster('workers/cluster-bus.js')).not.toEqual([]);
  expect([...loaded].flatMap(ofTheCluster)).toEqual([]);
});
