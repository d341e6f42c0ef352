import type { BotKind } from '../bot-sdk/index.js';
import type { KindInfo, LoadedKinds } from '../shared/contract/bots.js';
import { messageOf } from '../shared/errors.js';

/**
 * Loads a kind from a module URL into `kinds`. @returns its description, or why it does not load, in one line.
 */
export async function loadModule(
  module: string,
  kinds: Map<string, BotKind>,
): Promise<LoadedKinds> {
  try {
    const kind = await loadKind(module);
    if (kinds.has(kind.kind)) throw new Error(`there is another kind ${kind.kind}`);
    const info = kindInfo(kind);
    kinds.set(kind.kind, kind);
    return { kinds: [info], failed: [] };
  } catch (thrown) {
    return { kinds: [], failed: [{ module, error: messageOf(thrown) }] };
  }
}

async function loadKind(module: string): Promise<BotKind> {
  const { default: kind } = (await import(module)) as { default?: Partial<BotKind> };
  if (
    typeof kind?.kind !== 'string' ||
    typeof kind.run !== 'function' ||
    typeof kind.state !== 'function' ||
    !kind.config ||
    !kind.commands
  ) {
    throw new Error('it has no default export made by defineBot');
  }
  return kind as BotKind;
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
