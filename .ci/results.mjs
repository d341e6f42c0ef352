// Reads what vitest's JSON reporter wrote for .ci/run.
//
//   node .ci/results.mjs again <results.json>           prints the files with failures, to be run once more
//   node .ci/results.mjs merge <results.json> <again>   marks what failed in the first run and passed in the second
//   node .ci/results.mjs sum <directory>                prints failures, flaky and skipped tests, and the sum

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [command, first, second] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const plain = stripVTControlCharacters;
const shown = (file) => path.relative(process.cwd(), file);

/** A file that failed without a failed test: it did not load, or a hook failed. */
const failedAsFile = (file) =>
  file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed');

function merge(results, again) {
  for (const file of results.testResults) {
    const repeated = again.testResults.find(({ name }) => name === file.name);
    if (!repeated) continue;
    if (failedAsFile(file) && repeated.status === 'passed') {
      Object.assign(file, {
        status: 'passed',
        flaky: true,
        assertionResults: repeated.assertionResults,
      });
      continue;
    }
    for (const test of file.assertionResults) {
      if (test.status !== 'failed') continue;
      const other = repeated.assertionResults.find(({ fullName }) => fullName === test.fullName);
      if (other?.status === 'passed') Object.assign(test, { status: 'passed', flaky: true });
    }
    // A hook may have failed beside the tests: the second run has to say that it does not.
    if (repeated.status === 'passed') file.status = 'passed';
  }
  return results;
}

function sum(directory) {
  let passed = 0;
  const failed = [];
  const flaky = [];
  const skipped = [];
  for (const name of readdirSync(directory).filter((one) => one.endsWith('.json'))) {
    for (const file of read(path.join(directory, name)).testResults) {
      if (file.flaky) flaky.push(shown(file.name));
      if (failedAsFile(file)) failed.push(`${shown(file.name)}\n${plain(file.message)}`);
      for (const test of file.assertionResults) {
        const title = `${shown(file.name)}: ${test.fullName}`;
        if (test.status === 'passed') passed += 1;
        else if (test.status === 'failed') {
          const [message = ''] = test.failureMessages;
          failed.push(
            `${title} (${Math.round(test.duration ?? 0)} ms)\n${plain(message).split('\n').slice(0, 12).join('\n')}`,
          );
        } else skipped.push(`${title}${test.meta?.needs ? `: needs ${test.meta.needs}` : ''}`);
        if (test.flaky) flaky.push(title);
      }
    }
  }
  const why = path.join(directory, 'why');
  if (existsSync(why)) console.log(`\n${plain(readFileSync(why, 'utf8')).trimEnd()}`);
  const checks = path.join(directory, 'failed');
  if (existsSync(checks)) failed.push(...readFileSync(checks, 'utf8').trimEnd().split('\n'));
  for (const one of failed) console.log(`\n== failed: ${one}`);
  if (flaky.length + skipped.length > 0) console.log('');
  for (const one of skipped) console.log(`skipped: ${one}`);
  for (const one of flaky) console.log(`flaky: ${one}`);
  const rest = skipped.length > 0 ? `, ${skipped.length} skipped` : '';
  console.log(`\n${passed} passed, ${failed.length} failed${rest}`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

if (command === 'again') {
  const failing = read(first).testResults.filter(({ status }) => status === 'failed');
  console.log(failing.map(({ name }) => shown(name)).join('\n'));
} else if (command === 'merge')
  writeFileSync(first, JSON.stringify(merge(read(first), read(second))));
else sum(first);
