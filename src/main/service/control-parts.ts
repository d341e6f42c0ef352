// Runs in main. Builds what clients reach through the fronts: tokens, commands, and the calls that fronts make to main.

import type { Cluster, NodeOperations } from '../../cluster/cluster.js';
import { HostCommands } from '../../shared/commands/host-commands.js';
import type { Config } from '../../shared/contract/config.js';
import { SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import { Access, type AccessFronts, type AccessParts } from '../access/access.js';
import { HostFigures } from '../bots/host-figures.js';
import type { HostPool } from '../bots/host-pool.js';
import type { KindStates } from '../bots/kind-states.js';
import type { LoopWatch } from '../bots/loop-watch.js';
import { Fleets } from '../fleet/fleets.js';
import { Operations } from '../operations/operations.js';
import { Rollouts } from '../operations/rollouts.js';
import { OperationStore } from '../store/operation-store.js';
import type { Store } from '../store/store.js';
import { TokenStore } from '../store/token-store.js';
import type { HostThread } from '../threads/host-thread.js';
import { logItem, type ServiceEvents } from '../threads/service-events.js';
import { type ControllerParts, createController } from './controller.js';
import { type MeasuredParts, mainMetrics } from './main-metrics.js';
import { type DrilledParts, ServiceCommands } from './service-commands.js';

export type ControlParts = ReturnType<typeof buildControl>;

export interface ControlNeeds
  extends Pick<AccessParts, 'dataDir' | 'sources' | 'warn'>,
    Pick<
      ControllerParts,
      'registry' | 'schemas' | 'kinds' | 'quarantine' | 'rules' | 'versions' | 'reload' | 'service'
    > {
  config: Config;
  store: Store;
  events: ServiceEvents;
  cluster: NodeOperations & Pick<Cluster, 'bots' | 'node' | 'tokens'>;
  hosts: HostPool;
  loops: LoopWatch<HostThread>;
  states: KindStates;
  fronts: AccessFronts;
  /** What `drill` breaks. */
  drilled: DrilledParts;
  measured: Omit<MeasuredParts, 'tokens' | 'rules' | 'kinds' | 'cluster'>;
}

/** Starts nothing. */
export function buildControl(needs: ControlNeeds) {
  const { config, events, cluster, registry, hosts, schemas, rules, versions, states } = needs;
  const access = new Access({
    ...needs,
    tokens: new TokenStore(needs.store),
    sharing: cluster.tokens,
    say: (level, scope, message) => events.tell(logItem(level, scope, message)),
  });
  const commands = new ServiceCommands(
    { registry, hosts, drilled: config.drills.enabled ? needs.drilled : null },
    events,
  );
  // Main's own channels to the hosts, for commands of other nodes.
  const hostCommands = new HostCommands({
    connect: (host) => hosts.get(host).connectFront(),
    failed: (failure) => commands.failed(failure),
    timeoutMs: config.invoke.timeout_ms,
    maxWaiting: config.http.max_requests_in_flight,
  });
  const publish: ControllerParts['publish'] = (...items) => {
    // It rejects only because of a faulty item, and nobody waits for it.
    events.publish(...items).catch(() => {});
  };
  const rollouts = new Rollouts({
    ...{ registry, versions, schemas, states, hosts, reload: needs.reload },
    say: (level, line) => events.tell(logItem(level, SERVICE_SCOPE, line)),
  });
  const operations = new Operations({
    store: new OperationStore(needs.store),
    incarnationOf: (bot) => registry.identityOf(bot)?.incarnation ?? '',
    publish,
    node: cluster.node,
    resume: (record) => rollouts.resume(record),
  });
  rollouts.through(operations);
  const fleets = new Fleets({
    ...{ registry, operations, pressure: access.pressure, node: cluster.node },
  });
  const { controller, requests } = createController({
    ...needs,
    ...{ access, commands, fleets, hostCommands, operations, rollouts, publish },
    tell: (...items) => events.tell(...items),
    figures: new HostFigures(() => hosts.threads(), needs.loops),
    metrics: () =>
      mainMetrics({ ...needs.measured, tokens: access.tokens, kinds: schemas, rules, cluster }),
  });
  return { access, commands, fleets, hostCommands, operations, rollouts, controller, requests };
}
