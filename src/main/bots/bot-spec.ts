// Makes the specs of bots from requests. Pure, except for the incarnation of a new bot.

import { randomBytes } from 'node:crypto';
import type { ClusterBots } from '../../cluster/cluster.js';
import type {
  BotSpec,
  CreateBotBody,
  RestartPolicy,
  UpdateBotBody,
} from '../../shared/contract/bots.js';
import type { JsonObject } from '../../shared/contract/json.js';
import { quotaFault } from '../../shared/contract/quota.js';
import { DroverError } from '../../shared/errors.js';

/**
 * The spec of a new bot. Its configuration is stored as given: defaults are filled in at each start, because some are only known then.
 * @throws DroverError `bad_request`.
 */
export function newSpec(
  input: CreateBotBody,
  defaults: RestartPolicy,
  cluster: Pick<ClusterBots, 'firstTerm' | 'checkPlace'>,
): BotSpec {
  const { id, kind, labels, dedicated, desired, isolation, host_group, quota } = input;
  const { node, node_labels, failover } = input;
  const term = cluster.firstTerm;
  const spec: BotSpec = {
    id,
    kind,
    config: input.config as JsonObject,
    labels,
    desired,
    restart: { ...defaults, ...input.restart },
    dedicated,
    ...(isolation && { isolation }),
    ...(host_group !== undefined && { host_group }),
    ...(quota && { quota }),
    ...(node !== undefined && { node }),
    ...(node_labels && { node_labels }),
    ...(failover && { failover }),
    ...(term !== undefined && { term }),
    incarnation: randomBytes(8).toString('hex'),
  };
  cluster.checkPlace(input);
  check(spec);
  return spec;
}

/** A spec after a change; `config` is the merged one. @throws DroverError `bad_request`. */
export function changedSpec(
  spec: BotSpec,
  change: UpdateBotBody,
  config: JsonObject,
  cluster: Pick<ClusterBots, 'checkPlace'>,
): BotSpec {
  const { labels, restart, isolation, host_group, quota, node, node_labels, failover } = change;
  cluster.checkPlace(change);
  const changed: BotSpec = {
    ...spec,
    ...(quota && { quota }),
    config,
    labels: labels ?? spec.labels,
    restart: { ...spec.restart, ...restart },
    ...(failover && { failover }),
  };
  set(changed, 'isolation', isolation);
  set(changed, 'host_group', host_group);
  set(changed, 'node', node);
  set(changed, 'node_labels', node_labels);
  check(changed);
  return changed;
}

function check(spec: BotSpec): void {
  const { dedicated, host_group: group, quota, node, node_labels: labels } = spec;
  if (dedicated && group !== undefined) {
    throw new DroverError(
      'bad_request',
      'dedicated and host_group exclude each other: a dedicated bot shares its host with no other bot',
    );
  }
  const fault = quota ? quotaFault(quota) : null;
  if (fault !== null) throw new DroverError('bad_request', fault);
  if (node !== undefined && labels) {
    throw new DroverError(
      'bad_request',
      'node and node_labels exclude each other: a bot that names its node may run on no other',
    );
  }
}

/** @param value null removes it; undefined leaves it as it is. */
function set<K extends 'isolation' | 'host_group' | 'node' | 'node_labels'>(
  spec: BotSpec,
  key: K,
  value: BotSpec[K] | null,
): void {
  if (value === null) delete spec[key];
  else if (value !== undefined) spec[key] = value;
}
