// The specifications from which deleted bots can be created again, as far as the service shows them: it does not show secrets.

import type { BotConfig, BotSnapshot, NewBot } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/** More at once are not looked up: each is a request. */
export const MAX_KNOWN = 100;
/** Requests at once. */
const AT_ONCE = 6;

export interface Specifications {
  known: ReadonlyMap<string, NewBot>;
  /** Why bots cannot be created again, by id. */
  unknown: ReadonlyMap<string, string>;
}

type Bot = Pick<BotSnapshot, 'id' | 'kind' | 'labels' | 'desired'>;

/**
 * @param configOf asks the service for the configuration of a bot.
 * @param mayQuota whether the user may set quotas.
 */
export async function specificationsOf(
  bots: readonly Bot[],
  configOf: (id: string) => Promise<BotConfig>,
  mayQuota: boolean,
): Promise<Specifications> {
  const known = new Map<string, NewBot>();
  const unknown = new Map<string, string>();
  const tooMany = bots.length > MAX_KNOWN;
  const rest = [...bots];
  const work = async (): Promise<void> => {
    for (let bot = rest.shift(); bot; bot = rest.shift()) {
      const { id } = bot;
      if (tooMany) {
        unknown.set(id, t('undo.tooMany', { n: MAX_KNOWN }));
        continue;
      }
      try {
        const given = specificationOf(bot, await configOf(id), mayQuota);
        if (typeof given === 'string') unknown.set(id, given);
        else known.set(id, given);
      } catch (thrown) {
        unknown.set(id, thrown instanceof Error ? thrown.message : String(thrown));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { known, unknown };
}

/** @returns why not, if a part of it is unknown or may not be set. */
function specificationOf(bot: Bot, stored: BotConfig, mayQuota: boolean): NewBot | string {
  // It belongs to a fleet by a file that is applied.
  const { secrets, host_group, quota, fleet: _, ...rest } = stored;
  if (secrets === undefined) return t('undo.unknownSecrets');
  if (secrets.length > 0) return t('undo.secrets', { names: secrets.join(', ') });
  const hasQuota = Object.keys(quota).length > 0;
  if (hasQuota && !mayQuota) return t('undo.quota');
  const { id, kind, labels, desired } = bot;
  return {
    id,
    kind,
    labels,
    desired,
    ...rest,
    ...(hasQuota && { quota }),
    ...(host_group !== null && { host_group }),
  };
}
