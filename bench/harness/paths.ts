// Paths, relative to dist/bench: benches run compiled.

/** The repository root. */
export const REPOSITORY = new URL('../../../', import.meta.url);

export const GUARDS_FILE = new URL('bench/guards.json', REPOSITORY);
export const RESULTS_DIRECTORY = new URL('bench/results/', REPOSITORY);
/** This build. */
export const DIST = new URL('../../', import.meta.url);
export const SERVICE_SCRIPT = new URL('src/cli/main.js', DIST);

/** The same service, ending with the bench, in any build. */
export const LINKED_SERVICE = 'bench/harness/linked-service.js';

/** A source in C under bench, such as `load/counting-clients.c`. */
export function benchSource(path: string): URL {
  return new URL(`bench/${path}`, REPOSITORY);
}

/** A script under dist/bench, such as `controls/uws-bare.js`. */
export function benchScript(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}
