// Where the files of the package are, relative to this module: from dist/src/shared, or from dist/src/chunks in the bundles
// (rolldown.config.mjs). No other module may use import.meta.url: it changes when the module is bundled.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const at = (path: string): URL => new URL(path, import.meta.url);

/** For CommonJS modules, and packages that are loaded when they are first needed. */
export const require = createRequire(import.meta.url);

/** Entries of worker threads. */
export const WORKERS = {
  botHost: at('../../workers/bot-host.js'),
  botProcess: at('../../workers/bot-process.js'),
  broadcaster: at('../../workers/broadcaster.js'),
  demoWorld: at('../../workers/demo-world.js'),
  front: at('../../workers/front.js'),
  hostRelay: at('../../workers/host-relay.js'),
  journal: at('../../workers/journal.js'),
  clusterBus: at('../../workers/cluster-bus.js'),
  rules: at('../../workers/rules.js'),
  processWatch: at('../../workers/process-watch.js'),
};

/** Programs that run as separate processes. The build puts them there. */
export const PROGRAMS = {
  natsKeeper: fileURLToPath(at('../programs/nats-keeper.js')),
  tryNode: fileURLToPath(at('../programs/try-node.js')),
  verifyJournal: fileURLToPath(at('../programs/verify-journal.js')),
  verifyStore: fileURLToPath(at('../programs/verify-store.js')),
};

/** The code of Drover, without the entries of its threads and the kinds that ship. */
export const CODE_DIR = at('../');

/** The module of a kind that ships. */
export const shippedKind = (kind: string): URL => at(`../../workers/kinds/${kind}.js`);

/** The module that makes kinds of programs. */
export const PROGRAM_KIND = at('../kinds/program/program-kind.js');

/** `dist/dashboard`, as vite leaves it (dashboard/vite.config.ts). */
export const DASHBOARD_DIR = fileURLToPath(at('../../dashboard'));

/** The hooks of bot hosts where Node has no synchronous ones. */
export const KIND_HOOKS = at('../bot-host/kind-hooks.js');

/** The folder of the package in the build. */
export const PACKAGE_DIR = fileURLToPath(at('../../..'));

/** The module that bots in Python import. */
export const PYTHON_SDK = fileURLToPath(at('../../../sdk/python/drover_bot.py'));

/** The templates of `drover kinds new`. */
export const NEW_BOTS = fileURLToPath(at('../../../sdk/new'));

/** One of them exists: beside src in a checkout, one level further up in the build. */
export const PACKAGE_JSONS = [at('../../package.json'), at('../../../package.json')];
