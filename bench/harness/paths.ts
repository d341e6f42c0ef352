// Paths, relative to dist/bench: benches run compiled.

/** The repository root. */
const REPOSITORY = new URL('../../../', import.meta.url);

export const GUARDS_FILE = new URL('bench/guards.json', REPOSITORY);
export const RESULTS_DIRECTORY = new URL('bench/results/', REPOSITORY);
export const SERVICE_SCRIPT = new URL('../../src/cli/main.js', import.meta.url);

/** The same service, ending with the bench. */
export const LINKED_SERVICE_SCRIPT = new URL('./linked-service.js', import.meta.url);

/** A script under dist/bench, such as `controls/uws-bare.js`. */
export function benchScript(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}
