// `drover completion fish` in fish. test/integration/cli-alone.test.ts covers bash.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runCli } from '../harness/cli.js';
import { requireTool } from '../harness/needs.js';
import { makeDir, removeDir } from '../harness/service.js';

it('fish completes commands and flags', async () => {
  requireTool('fish', 'fish');
  const home = makeDir();
  onTestFinished(() => removeDir(home));
  const { stdout } = await runCli(home, ['completion', 'fish']);
  const file = path.join(home, 'drover.fish');
  writeFileSync(file, stdout);
  const complete = (line: string): string[] => {
    const script = `source '${file}'; complete -C '${line}'`;
    const text = execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' });
    return text
      .trim()
      .split('\n')
      .map((one) => one.replace(/\t.*/, ''));
  };
  expect(complete('drover ch')).toEqual(['check']);
  expect(complete('drover bots create x --k')).toEqual(['--kind']);
  expect(complete('drover logs --bot bots --j')).toEqual(['--json']);
  expect(complete('drover completion ')).toEqual(['bash', 'fish', 'zsh']);
  expect(complete('drover bots create x --restart ')).toEqual(['always', 'never', 'on-failure']);
});
