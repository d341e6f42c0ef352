import type { BotKind } from '../bot-sdk/index.js';
import type { KindInfo, LoadedKinds } from '../shared/contract/bots.js';
import { messageOf } from '../shared/errors.js';
import { checkKind, isMeantAsKind } from './kind-faults.js';
import { explainLoadError } from './load-error.js';

/**
 * Loads a kind from a module URL.
 * @param loaded gets the kind, by its module. @returns its description, or why it does not load, in one line.
 */
export async function loadModule(
  module: string,
  loaded: Map<string, BotKind>,
): Promise<LoadedKinds> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(module)) as Record<string, unknown>;
  } catch (thrown) {
    return { kinds: [], failed: [{ module, error: await explainLoadError(thrown, module) }] };
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

/** What `POST /invoke` needs to know of a kind's commands. */
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
