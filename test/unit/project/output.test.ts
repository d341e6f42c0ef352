// All that is printed goes through src/shared/terminal.ts, which escapes what could control the operator's terminal.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../harness/docs.js';

const PRINTS = /console\.\w+\(|\bstd(?:out|err)\.(?:write|end)\(|\.pipe\(process\./;

it('no other module writes to standard output or standard error', () => {
  const files = ['src', 'workers'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
  expect(files).toContain('src/shared/terminal.ts');
  const printing = files.filter((file) => PRINTS.test(readFileSync(path.join(ROOT, file), 'utf8')));
  expect(printing).toEqual([]);
});
