// Runs in a bot host thread. Owns how the modules of bot kinds are loaded.

import type { BotKind } from '../bot-sdk/index.js';
import type { KindInfo, LoadedKinds } from '../contract/threads.js';
import { messageOf } from '../errors.js';

/**
 * Loads kinds from module URLs into `kinds`. One that fails does not keep the others from loading.
 * @returns what they are, and those that failed, with the reason in one line.
 */
export async function loadKinds(
  modules: readonly string[],
  kinds: Map<string, BotKind>,
): Promise<Omit<LoadedKinds, 'threadId'>> {
  const infos: KindInfo[] = [];
  const failed: LoadedKinds['failed'] = [];
  // One after the other, so that which of two with the same name wins does not depend on chance.
  for (const module of modules) {
    try {
      const kind = await loadKind(module);
      if (kinds.has(kind.kind)) throw new Error(`there is another kind ${kind.kind}`);
      infos.push(kindInfo(kind));
      kinds.set(kind.kind, kind);
    } catch (thrown) {
      failed.push({ module, error: messageOf(thrown) });
    }
  }
  return { kinds: infos, failed };
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

/** What main and clients may know of a kind. Functions cannot leave the thread, schemas can. */
function kindInfo(kind: BotKind): KindInfo {
  const commands = Object.entries(kind.commands).map(([name, { description, args }]) => [
    name,
    { description, args },
  ]);
  const info = { ...kind, commands: Object.fromEntries(commands) };
  // Schemas may carry what structured clone refuses or drops; JSON is what they are.
  return JSON.parse(JSON.stringify(info)) as KindInfo;
}
