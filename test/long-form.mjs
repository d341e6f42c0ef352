// What the tools of `npm run long` share that run test files for longer: their options, and the run itself.

import { parseArgs } from 'node:util';
import { startVitest } from 'vitest/node';

/**
 * The options of a tool, or its end with exit code 2 and a line that says what is wrong.
 * @param check throws for a wrong value.
 */
export function optionsOf(tool, options, check) {
  try {
    const { values } = parseArgs({ options });
    check(values);
    return values;
  } catch (error) {
    process.stderr.write(`${tool}: ${error.message}\n`);
    process.exit(2);
  }
}

/** Options that are whole numbers, by name, with their defaults; undefined for none. */
export function wholeNumbers(defaults) {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: 'string', ...(value !== undefined && { default: value }) },
    ]),
  );
}

/** @throws Error if one of these is not a whole number. */
export function expectWhole(values, names = Object.keys(values)) {
  for (const name of names) {
    if (!/^\d+$/.test(values[name])) throw new Error(`--${name} must be a whole number`);
  }
}

/** Gives the values to the test files, in variables like CHAOS_SEED. */
export function setVariables(prefix, values) {
  for (const [name, value] of Object.entries(values)) {
    process.env[`${prefix}_${name.toUpperCase()}`] = value;
  }
  process.env[`${prefix}_PROGRESS`] = 'true';
}

/**
 * Runs test files, and ends with exit code 0 when all passed. A failed run is a finding, so it is not retried.
 * @param settings of vitest. @param tell what to say in the end; it knows whether they passed.
 */
export async function runFiles(files, settings, tell) {
  const vitest = await startVitest('test', files, {
    watch: false,
    run: true,
    retry: 0,
    ...settings,
  });
  const done = vitest.state.getFiles();
  const held = done.length > 0 && done.every(({ result }) => result?.state === 'pass');
  process.stderr.write(`${tell(held)}\n`);
  await vitest.close();
  process.exit(held ? 0 : 1);
}
