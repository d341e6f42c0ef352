// What a caller may choose for a bot that it reaches: nothing that is at the cost of other bots. Each check is against what is stored
// at that moment, so it comes in one turn with the change that it admits.

import type { CreateBotBody, UpdateBotBody } from '../../shared/contract/bots.js';
import type { Quota } from '../../shared/contract/quota.js';
import { allows, reaches } from '../../shared/contract/rights.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import type { BotRegistry } from '../bots/registry.js';

type Known = Pick<BotRegistry, 'specOf' | 'isolationOf' | 'ofGroup' | 'restartDefaults'>;

/**
 * The bot as it is created for this caller. An isolation that the configuration says anyway is left out: the bot follows the configuration when that
 * changes, as it would without the choice. @throws DroverError `forbidden`
 */
export function admittedBot(bots: Known, bot: CreateBotBody, rights: Rights): CreateBotBody {
  checkQuota(bot.quota, rights);
  checkRestart(bots, bot.restart, rights);
  checkGroup(bots, bot.id, bot.host_group, rights);
  const { isolation, ...rest } = bot;
  if (isolation === undefined || allows(rights, 'admin')) return bot;
  const { kind } = bot;
  const configured = bots.isolationOf({ kind });
  if (isolation !== configured) throw isolationRefused(isolation, configured, false);
  return rest;
}

/** The change as it is made for this caller, like {@link admittedBot}. */
export function admittedChange(
  bots: Known,
  id: string,
  change: UpdateBotBody,
  rights: Rights,
): UpdateBotBody {
  checkQuota(change.quota, rights);
  checkRestart(bots, change.restart, rights);
  const spec = bots.specOf(id);
  if (!spec) return change;
  const { isolation, ...rest } = change;
  if (rest.host_group !== spec.host_group) checkGroup(bots, id, rest.host_group, rights);
  if (isolation === undefined || allows(rights, 'admin')) return change;
  const present = bots.isolationOf(spec);
  const { kind } = spec;
  const wanted = isolation ?? bots.isolationOf({ kind });
  if (wanted !== present) throw isolationRefused(isolation, present, spec.isolation !== undefined);
  return rest;
}

/** A limited token puts a bot beside those that it reaches only, stopped ones too: what one does to their host, all suffer. */
function checkGroup(
  bots: Known,
  id: string,
  group: string | null | undefined,
  { reach }: Rights,
): void {
  if (reach === null || group === null || group === undefined) return;
  for (const other of bots.ofGroup(group)) {
    if (other.id === id || reaches(reach, other.id, other.labels)) continue;
    throw new DroverError(
      'forbidden',
      `host_group ${group} has bots that this token does not reach: choose another name, or ask somebody who reaches them all`,
    );
  }
}

/** The service's quota is the operator's: who may only control bots must not lift it. */
function checkQuota(quota: Quota | undefined, rights: Rights): void {
  if (quota === undefined || allows(rights, 'admin')) return;
  throw new DroverError('forbidden', 'the quota of a bot needs the scope admin');
}

/** Bots that end and start again all the time keep main busy, and so every other bot waiting. */
function checkRestart(bots: Known, restart: UpdateBotBody['restart'], { reach }: Rights): void {
  if (reach === null || restart === undefined) return;
  const least = bots.restartDefaults.backoff_ms;
  for (const key of ['backoff_ms', 'backoff_cap_ms'] as const) {
    if ((restart[key] ?? least) >= least) continue;
    throw new DroverError(
      'forbidden',
      `restart.${key} must be at least ${least}, the backoff_ms of the configuration: this token is limited to some bots`,
    );
  }
}

function isolationRefused(asked: string | null, present: string, isOwn: boolean): DroverError {
  const why = isOwn ? 'as was chosen for this bot' : 'as the configuration says';
  return new DroverError(
    'forbidden',
    `isolation ${asked} needs the scope admin: here it is ${present}, ${why}; leave it out`,
  );
}
