import type { BotSpec, Isolation } from '../../shared/contract/bots.js';
import type { Config } from '../../shared/contract/config.js';

/** What a bot's host runs in: as the bot says, else as the configuration says for its kind, else for all. */
export function isolationOf(
  { kind, isolation }: Pick<BotSpec, 'kind' | 'isolation'>,
  hosts: Pick<Config['hosts'], 'isolation' | 'isolation_by_kind'>,
): Isolation {
  return isolation ?? ownOf(hosts.isolation_by_kind, kind) ?? hosts.isolation;
}

/** A kind may be called `constructor`. */
function ownOf(byKind: Config['hosts']['isolation_by_kind'], kind: string): Isolation | undefined {
  return Object.hasOwn(byKind, kind) ? byKind[kind] : undefined;
}
