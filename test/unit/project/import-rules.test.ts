// The check of `npm run lint:imports`, with imports that it refuses and others that it allows.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  foldersSection,
  readFolders,
  refusedImports,
  withSection,
} from '../../../config/folders.js';
import { ROOT } from '../../harness/docs.js';

it.each([
  ['src/main/service/service.ts', '../front/routes.js'],
  ['src/main/service/service.ts', '../../rules/evaluate.js'],
  ['src/main/store/store.ts', '../bots/registry.js'],
  ['src/main/threads/demo.ts', '../../kinds/demo-world/room.js'],
  ['src/front/stream/fanout.ts', '../../cluster-bus/block.js'],
  ['src/front/stream/fanout.ts', '../views/view.js'],
  ['src/front/stream/fanout.ts', 'uWebSockets.js'],
  ['src/front/routes.ts', 'typebox'],
  ['src/cluster/bus/block.ts', '../journal/block.js'],
  ['src/broadcaster/broadcaster.ts', 'node:worker_threads'],
  ['src/journal/journal.ts', 'node:http'],
  ['src/client/calls.ts', '../shared/errors.js'],
  ['src/client/calls.ts', 'node:fs'],
  ['src/cli/doctor.ts', '../front/routes.js'],
  ['src/shared/memory/ring.ts', '../errors.js'],
  ['src/shared/contract/api.ts', '../lmdb/examine.js'],
  ['src/kinds/irc/session.ts', '../../bot-host/host.js'],
  ['workers/front.ts', '../src/main/service/service.js'],
  ['workers/kinds/demo.ts', '../../src/main/service/service.js'],
  ['dashboard/src/main.tsx', '../../src/shared/errors.js'],
  ['src/new-folder/file.ts', '../front/routes.js'],
])('%s may not import %s', (file, specifier) => {
  expect(refusedImports(file, `import type { Any } from '${specifier}';`)).toEqual([
    expect.stringMatching(file.startsWith('src/new-folder') ? /no rule/ : / imports .*: \w/),
  ]);
});

it.each([
  ['src/cli/doctor.ts', '../front/engine/load.js'],
  ['src/main/threads/demo.ts', '../../kinds/demo-world/messages.js'],
  ['src/front/engine/uws/uws.ts', 'uWebSockets.js'],
  ['src/front/views/view.ts', '../stream/fanout.js'],
  ['src/shared/contract/api.ts', '../memory/layout.js'],
  ['src/client/calls.ts', '../shared/contract/bots.js'],
  ['workers/front.ts', '../src/front/routes.js'],
  ['dashboard/src/main.tsx', '../../src/shared/query/parse-query.js'],
])('%s may import %s', (file, specifier) => {
  expect(refusedImports(file, `import type { Any } from '${specifier}';`)).toEqual([]);
});

it('types and dynamic imports are imports', () => {
  const text = `export type { A } from '../front/a.js';\nawait import('../front/b.js');`;
  expect(refusedImports('src/journal/journal.ts', text)).toHaveLength(2);
});

it('docs/ARCHITECTURE.md shows the folders and arrows as they are (npm run generate)', () => {
  const page = readFileSync(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');
  expect(withSection(page, foldersSection(readFolders(ROOT)))).toBe(page);
});
