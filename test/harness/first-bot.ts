// Follows "Your first bot" of docs/GETTING-STARTED.md, word for word.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { blocksOf, docBlock, type Reader } from './docs.js';

/** The output that the document shows after the block with these words. */
function shownBehind(words: string): string {
  const blocks = blocksOf('docs/GETTING-STARTED.md');
  return blocks[blocks.findIndex(({ text }) => text.includes(words)) + 1]?.text ?? '';
}

/** Lines without times and counts. */
function worded(lines: string): string[] {
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^[\d:.]+ /, '').replace(/\d[\w.-]*/g, '0'));
}

/**
 * From the bot to the report, with the package installed.
 * @returns the service's exit code after Ctrl-C, or null where the signal ends npx itself.
 */
export async function walkThroughPackage(reader: Reader): Promise<number | null> {
  const kind = docBlock('docs/GETTING-STARTED.md', 'my-bots/countdown.mjs');
  expect(kind.trimEnd().split('\n').length).toBeLessThan(25);
  reader.write(kind);
  const service = reader.type(
    docBlock('docs/GETTING-STARTED.md', 'npx drover start --kinds my-bots'),
  );
  await service.until(/^listening on /m);

  const words = 'npx drover bots create rocket --kind countdown';
  const watched = reader.type(docBlock('docs/GETTING-STARTED.md', words));
  // It fails, and its policy restarts it.
  const seen = await watched.until(/ backoff\n(?:.*\n)*.* starting -> counting\n.*10 to go\n/);
  expect(worded(seen)).toEqual(expect.arrayContaining(worded(shownBehind(words))));
  await watched.interrupt();

  const { left } = JSON.parse(
    (
      await reader.run(
        docBlock('docs/GETTING-STARTED.md', 'npx drover invoke rocket add seconds=50'),
      )
    ).replace(/^[^{]*/, ''),
  ) as { left: number };
  expect(left).toBeGreaterThan(40);
  reader.write(docBlock('docs/GETTING-STARTED.md', '# test.sh'));
  const check = 'npx drover record run.ndjson --force -- sh test.sh';
  const checked = await reader.run(docBlock('docs/GETTING-STARTED.md', check));
  expect(worded(checked)).toEqual(expect.arrayContaining(worded(shownBehind(check))));
  const report = readFileSync(path.join(reader.dir, 'report.xml'), 'utf8');
  expect(report).toContain('tests="5" failures="0"');
  // A script that fails leaves no bot behind either, so that it can run again.
  reader.write(docBlock('docs/GETTING-STARTED.md', '# test.sh').replace('add seconds=5', 'no'));
  for (let run = 0; run < 2; run++) {
    const failed = await reader.run(
      'npx drover record run.ndjson --force -- sh test.sh || echo "code $?"',
    );
    expect(failed).toMatch(/^code 5$/m);
    expect(await reader.run('npx drover bots list')).not.toMatch(/^probe /m);
  }
  const code = await service.interrupt();
  const lives = () =>
    fetch(`${reader.env['DROVER_URL']}/health`).then(
      () => true,
      () => false,
    );
  await expect.poll(lives).toBe(false);
  return code;
}
