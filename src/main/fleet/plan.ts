// Pure, but for the bots that it looks at. What applying a fleet does to each bot.

import { isDeepStrictEqual } from 'node:util';
import type { BotSpec, CreateBotBody, UpdateBotBody } from '../../shared/contract/bots.js';
import { BOT_PARTS, type BotChange } from '../../shared/contract/config-changes.js';
import type { FleetStep } from '../../shared/contract/fleet.js';
import { allows } from '../../shared/contract/rights.js';
import type { Rights } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { admittedBot, admittedChange } from '../access/bot-choices.js';
import { driftOf, pathOf } from '../bots/fleet-mark.js';
import type { BotRegistry } from '../bots/registry.js';

/** A step with what carries it out. */
export interface PlannedStep {
  step: FleetStep;
  /** The bot as it is created; undefined for one that is deleted or refused. */
  input?: CreateBotBody;
  /** The bot as it will be, for a change. */
  next?: BotSpec;
}

/** Fields of a bot that its configuration does not show as parts. */
const OWN = ['kind', 'dedicated', 'desired'] as const;

/** @returns undefined for a bot that does not change. */
export function planBot(
  registry: BotRegistry,
  bot: CreateBotBody,
  fleet: string,
  rights: Rights,
): PlannedStep | undefined {
  const { id, kind } = bot;
  const spec = registry.specOf(id);
  try {
    if (!spec) {
      const input = admittedBot(registry, bot, rights);
      registry.check(input);
      return { step: { id, kind, action: 'create' }, input };
    }
    const { fleet: mark } = spec;
    if (mark && mark.name !== fleet) {
      const reason = `the bot belongs to the fleet ${mark.name}: remove it there first, or give another id`;
      return { step: { id, kind, action: 'refuse', reason } };
    }
    const { next, change } = registry.compare(spec, bot, fleet);
    const changes = changesOf(spec, next, change);
    const isReplaced = next.kind !== spec.kind || next.dedicated !== spec.dedicated;
    const isSettled = mark !== undefined && driftOf(spec).length === 0;
    const secrets = secretsOf(registry, next, change, rights);
    if (isSettled && secrets.length === 0 && Object.keys(changes).length === 0) return undefined;
    checkChoices(registry, spec, next, rights);
    const step: FleetStep = {
      ...{ id, kind, action: isReplaced ? 'replace' : 'change', changes },
      ...(secrets.length > 0 && { secrets }),
      ...(!mark && { adopted: true }),
    };
    return { step, input: bot, next };
  } catch (thrown) {
    if (!(thrown instanceof DroverError)) throw thrown;
    return { step: { id, kind, action: 'refuse', reason: thrown.message } };
  }
}

/**
 * Who lacks the scope admin cannot read secrets, and could guess them from what a dry run calls changed: all that are given
 * count as changed then.
 */
function secretsOf(
  registry: BotRegistry,
  next: BotSpec,
  change: BotChange | null,
  rights: Rights,
): string[] {
  const changed = change?.secrets ?? [];
  if (allows(rights, 'admin')) return changed;
  return [...new Set([...changed, ...registry.secretsOf(next)])];
}

/** Who may not make a choice may leave it as it is. @throws DroverError `forbidden`. */
function checkChoices(
  registry: BotRegistry,
  spec: Readonly<BotSpec>,
  next: BotSpec,
  rights: Rights,
): void {
  const change: UpdateBotBody = {
    ...(!isDeepStrictEqual(next.quota, spec.quota) && { quota: next.quota ?? {} }),
    ...(next.isolation !== spec.isolation && { isolation: next.isolation ?? null }),
  };
  admittedChange(registry, spec.id, change, rights);
}

function changesOf(
  spec: Readonly<BotSpec>,
  next: BotSpec,
  change: BotChange | null,
): NonNullable<FleetStep['changes']> {
  const own = OWN.filter((name) => spec[name] !== next[name]).map((name) => [
    name,
    { from: spec[name], to: next[name] },
  ]);
  const parts = BOT_PARTS.flatMap((part) =>
    Object.entries(change?.[part] ?? {}).map(([key, values]) => [pathOf(part, key), values]),
  );
  return Object.fromEntries([...own, ...parts]);
}
