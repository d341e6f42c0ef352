// Where the files of the package are, relative to this module: from dist/src/shared, or from dist/src/chunks in the bundles
// (rolldown.config.mjs). No other module may use import.meta.url: it changes when the module is bundled.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const at = (path: string): URL => new URL(path, import.meta.url);

/** For packages that are loaded when they are first needed, and are written for it. */
export const require = createRequire(import.meta.url);

/** Entries of worker threads. */
export const WORKERS = {
  botHost: at('../../workers/bot-host.js'),
  broadcaster: at('../../workers/broadcaster.js'),
  demoWorld: at('../../workers/demo-world.js'),
  front: at('../../workers/front.js'),
  journal: at('../../workers/journal.js'),
};

/** Programs that run as processes of their own. */
export const PROGRAMS = {
  benchService: fileURLToPath(at('../cli/commands/bench-service.js')),
  verifyJournal: fileURLToPath(at('../journal/verify-journal.js')),
  verifyStore: fileURLToPath(at('../main/store/verify-store.js')),
};

/** The module of a kind that ships. */
export const shippedKind = (kind: string): URL => at(`../../workers/kinds/${kind}.js`);

/** `dist/dashboard`, as vite leaves it (dashboard/vite.config.ts). */
export const DASHBOARD_DIR = fileURLToPath(at('../../dashboard'));

export const DEFAULT_CONFIG = at('../../../config/default.json');

/** One of them is there: beside src in a checkout, one further up in what is built. */
export const PACKAGE_JSONS = [at('../../package.json'), at('../../../package.json')];
