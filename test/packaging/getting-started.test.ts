// "First five minutes" of docs/GETTING-STARTED.md, typed into a shell word for word. Only the port differs.

import { expect, it } from 'vitest';
import { blocksOf, docBlock, Reader, ROOT, type Typed } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';

/** The block after the one with these words: the expected output. */
function answerOf(words: string): string {
  const blocks = blocksOf('docs/GETTING-STARTED.md');
  return blocks[blocks.findIndex(({ text }) => text.includes(words)) + 1]?.text ?? '';
}

interface Shown {
  snapshot?: { id: string; status: string };
  level?: string;
  session_id?: string;
  message?: string;
}

/** `data:` of all complete events in a stream's output. */
const events = (stream: Typed): Shown[] =>
  [...stream.shown().matchAll(/^data: (.*)\n\n/gm)].map(([, data = '']) => JSON.parse(data));

it('docs/GETTING-STARTED.md, "First five minutes"', async () => {
  const reader = new Reader(await freePort());
  // The dependencies are installed: .ci/run starts with `npm ci`.
  const command = docBlock(
    'docs/GETTING-STARTED.md',
    'npm ci --ignore-scripts && npm run build && npm start',
  );
  expect(docBlock('README.md', 'npm ci --ignore-scripts && npm run build && npm start')).toBe(
    command,
  );
  const start = command.replace('npm ci --ignore-scripts && npm run build && ', '');
  const service = reader.type(`cd '${ROOT}'; exec ${start}`);
  const greeting = await service.until(/^engine: .*\n/m);
  expectLooksLike(
    greeting,
    answerOf('npm ci --ignore-scripts && npm run build && npm start').replace('/home/you', '…'),
  );

  const signIn = docBlock('docs/GETTING-STARTED.md', 'PIN=$(cat');
  const [, TOKEN = ''] =
    /TOKEN=(.+)\n/.exec(await reader.run(`${signIn}\necho "TOKEN=$TOKEN"`)) ?? [];
  expect(TOKEN).toMatch(/^[\w+/]{64}$/);
  const run = (block: string): Promise<string> => reader.run(block, { TOKEN });
  const follow = (line: string): Typed => reader.type(line, { TOKEN });

  // A reader is slower than the bots.
  for (const id of ['demo-1', 'demo-2', 'demo-3']) {
    await reader.run(`drover wait ${id} --status in_world`, { DROVER_TOKEN: TOKEN });
  }

  const first = 'curl -N http://localhost:8090/events -H "Authorization: Bearer $TOKEN"\n';
  const all = follow(docBlock('docs/GETTING-STARTED.md', first));
  await all.until(/^event: log\ndata: .*"scope":"tcp".*"direction":"outgoing"/m);
  for (const line of answerOf(first).split('\n')) {
    // An event's content depends on the moment.
    if (!line.startsWith('data: {"timestamp_ms"')) expectLooksLike(all.shown(), line);
  }

  const bots = await run(
    docBlock('docs/GETTING-STARTED.md', 'curl http://localhost:8090/api/bots/demo-1'),
  );
  const [list = '', one = ''] = bots.split(/(?<=\})(?=\{"id")/);
  expect(JSON.parse(list).bots.map(({ id }: { id: string }) => id)).toEqual([
    'demo-1',
    'demo-2',
    'demo-3',
  ]);
  expect(JSON.parse(one)).toMatchObject({ id: 'demo-1', kind: 'demo' });

  const say = '"command":"say","args":{"text":"hello"}';
  expectLooksLike(await run(docBlock('docs/GETTING-STARTED.md', say)), answerOf(say));
  const heard = ({ session_id: id, message }: Shown): boolean =>
    id !== 'demo-1' && message === 'Chat{from="demo-1", text="hello"}';
  await expect.poll(() => events(all).some(heard)).toBe(true);

  const made = await run(docBlock('docs/GETTING-STARTED.md', '"id":"load-1","kind":"synthetic"'));
  // Its host may have started it before the answer.
  expect(JSON.parse(made)).toMatchObject({ id: 'load-1', desired: 'running' });
  await all.until(/"id":"load-1".*"status":"deleted"/);

  const filters = docBlock('docs/GETTING-STARTED.md', 'events?session=demo-1,demo-2')
    .trimEnd()
    .split('\n');
  expect(filters).toHaveLength(3);
  const [ofTwo, ofLevels, ofKind] = filters.map(follow) as [Typed, Typed, Typed];
  await Promise.all([ofTwo, ofLevels, ofKind].map((stream) => stream.until(/^(id|: position)\b/m)));
  await run(
    'curl -X POST http://localhost:8090/api/bots/demo-1/restart -H "Authorization: Bearer $TOKEN"',
  );
  await ofTwo.until(/^event: log\n/m);
  await ofLevels.until(/"level":"state"/);
  await ofKind.until(/^id: .*\nevent: session\n[\s\S]*^id: .*\nevent: session\n/m);
  const ids = events(ofTwo).map((event) => event.session_id ?? event.snapshot?.id);
  expect([...new Set(ids)].sort()).toEqual(['demo-1', 'demo-2']);
  expect(events(ofLevels).every(({ level }) => level !== undefined && level !== 'info')).toBe(true);
  expect(events(ofKind).every(({ snapshot }) => snapshot !== undefined)).toBe(true);

  const resume = docBlock('docs/GETTING-STARTED.md', "-H 'Last-Event-ID: ");
  const [, last = ''] = /^id: (\S+)$/m.exec(all.shown()) ?? [];
  const resumed = follow(resume.replace(/(?<=Last-Event-ID: )[^']+/, last));
  await resumed.until(/^id: .*\nevent: /m);
  const next = `${last.split('-')[0]}-${Number(last.split('-')[1]) + 1}`;
  expect(/^id: (\S+)$/m.exec(resumed.shown())?.[1]).toBe(next);
  // Unchanged, with an id from another service: the stream declares the gap.
  await follow(resume).until(/^event: gap\n/m);

  // The signal ends npm itself.
  expect([0, null], service.shown()).toContain(await service.interrupt());
  await Promise.all([all, ofTwo, ofLevels, ofKind, resumed].map((stream) => stream.ended));
  expect(all.shown()).toContain('"message":"stopped"');
}, 120_000);
