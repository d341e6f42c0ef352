// Owns where the package's files are, seen from here: from dist/src, or from dist/chunks, where the bundles have this module
// (rolldown.config.mjs). Nothing else may look at import.meta.url: it is another place in a bundle.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const at = (path: string): URL => new URL(path, import.meta.url);

/** For packages that are loaded when they are first needed, and are written for it. */
export const require = createRequire(import.meta.url);

/** Entries of worker threads. */
export const WORKERS = {
  botHost: at('../workers/bot-host.js'),
  broadcaster: at('../workers/broadcaster.js'),
  demoWorld: at('../workers/demo-world.js'),
  front: at('../workers/front.js'),
  journal: at('../workers/journal.js'),
};

/** Programs that run as processes of their own. */
export const PROGRAMS = {
  benchService: fileURLToPath(at('../src/cli/bench-service.js')),
  verifyJournal: fileURLToPath(at('../src/journal/verify-journal.js')),
  verifyStore: fileURLToPath(at('../src/store/verify-store.js')),
};

/** The module of a kind that ships. */
export const shippedKind = (kind: string): URL => at(`../workers/kinds/${kind}.js`);

/** `dist/dashboard`, as vite leaves it (dashboard/vite.config.ts). */
export const DASHBOARD_DIR = fileURLToPath(at('../dashboard'));

export const DEFAULT_CONFIG = at('../../config/default.json');

/** One of them is there: beside src in a checkout, one further up in what is built. */
export const PACKAGE_JSONS = [at('../package.json'), at('../../package.json')];
