import type { BotKind } from '../bot-sdk/index.js';
import type { KindInfo, LoadedKinds } from '../shared/contract/bots.js';
import type { Program, Programs } from '../shared/contract/programs.js';
import { messageOf } from '../shared/errors.js';
import { PROGRAM_KIND } from '../shared/package-paths.js';
import { checkKind, isMeantAsKind } from './kind-faults.js';
import { explainLoadError } from './load-error.js';

/**
 * Loads a kind from a module URL.
 * @param loaded gets the kind, by its module. @param importModule makes its exports.
 * @param filesOf the files that were read for a module. @returns its description, or why it does not load, in one line.
 */
export async function loadModule(
  module: string,
  loaded: Map<string, BotKind>,
  importModule: (module: string) => Promise<object> = (url) => import(url),
  filesOf: (module: string) => readonly string[] = (url) => [url],
): Promise<LoadedKinds> {
  let exports: Record<string, unknown>;
  try {
    exports = (await importModule(module)) as Record<string, unknown>;
  } catch (thrown) {
    const error = await explainLoadError(thrown, module, filesOf(module));
    return { kinds: [], failed: [{ module, error }] };
  }
  try {
    const { default: kind } = exports;
    if (!isMeantAsKind(kind)) return { kinds: [], failed: [noKind(module, exports)] };
    checkKind(kind);
    const info = kindInfo(kind);
    loaded.set(module, kind);
    return { kinds: [info], failed: [] };
  } catch (thrown) {
    return { kinds: [], failed: [{ module, error: messageOf(thrown) }] };
  }
}

/** The exports of a module. A program has none, so its kind is made. @param env variables of the service that programs get. */
export async function importKind(
  module: string,
  programs: Programs,
  env: readonly string[],
): Promise<object> {
  const program = Object.hasOwn(programs, module) ? programs[module] : undefined;
  if (!program) return import(module);
  // Loaded when there is one: it is not this folder's code, and a host without programs does not need it.
  const { programKind } = (await import(PROGRAM_KIND.href)) as {
    programKind: (program: Program, env: readonly string[]) => BotKind;
  };
  return { default: programKind(program, env) };
}

function noKind(module: string, exports: Record<string, unknown>): LoadedKinds['failed'][number] {
  const named = Object.keys(exports).find((name) => isMeantAsKind(exports[name]));
  if (named !== undefined) {
    return { module, error: `its kind is the export ${named}, and must be the default export` };
  }
  return { module, error: 'it has no default export made by defineBot', helper: true };
}

/** The part of a kind that main and clients get: no functions, which cannot cross threads. */
function kindInfo(kind: BotKind): KindInfo {
  const info = { ...kind, commands: commandSchemas(kind) };
  return asJson(info) as KindInfo;
}

/** The schemas of a kind's commands, for `POST /invoke`. */
export function commandSchemas({ commands }: BotKind): KindInfo['commands'] {
  const schemas = Object.entries(commands).map(([name, { description, args }]) => [
    name,
    { description, args },
  ]);
  return asJson(Object.fromEntries(schemas)) as KindInfo['commands'];
}

/** Schemas may hold symbols and functions that structured clone refuses or drops. */
function asJson(value: object): object {
  return JSON.parse(JSON.stringify(value)) as object;
}
