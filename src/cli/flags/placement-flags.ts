// The flags that say on which node of a cluster a bot runs.

import { type Command, Option } from 'commander';
import type { NewBot, UpdateBotBody } from '../../client/index.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { labels } from './flag-values.js';

/** The value that removes what an earlier command set. */
const ANY = 'any';

export interface PlacementFlags {
  node?: string;
  nodeLabel?: Record<string, string>;
  failover?: NonNullable<NewBot['failover']>;
}

/** For a new bot. */
export function withPlacement(command: Command): Command {
  return addFlags(command, 'node of the cluster that runs the bot (default: any)');
}

/** For an existing bot. */
export function withNewPlacement(command: Command): Command {
  return addFlags(
    command,
    `node of the cluster to run the bot on, which moves if it has to; ${ANY} removes node and labels`,
  );
}

function addFlags(command: Command, nodeText: string): Command {
  return command
    .option('--node <node>', nodeText)
    .option(
      '--node-label <name=value>',
      'label of the nodes that may run it (comma-separated or repeated)',
      labels,
    )
    .addOption(
      new Option(
        '--failover <what>',
        'when its node is lost: start it on another, or wait',
      ).choices(['restart', 'stay']),
    );
}

/** The fields of a new bot. @throws CliError */
export function placementOf(flags: PlacementFlags): Partial<NewBot> {
  const { node, nodeLabel, failover } = checked(flags);
  return {
    ...(node !== undefined && node !== ANY && { node }),
    ...(nodeLabel && { node_labels: nodeLabel }),
    ...(failover && { failover }),
  };
}

/** The same for a change. Node and labels replace each other. @throws CliError */
export function placementChange(flags: PlacementFlags): UpdateBotBody {
  const { node, nodeLabel, failover } = checked(flags);
  return {
    ...(node !== undefined && { node: node === ANY ? null : node, node_labels: null }),
    ...(nodeLabel && { node: null, node_labels: nodeLabel }),
    ...(failover && { failover }),
  };
}

function checked(flags: PlacementFlags): PlacementFlags {
  if (flags.node === undefined || flags.nodeLabel === undefined) return flags;
  throw new CliError(EXIT.usage, '--node and --node-label exclude each other; give one of them');
}
