import { randomBytes } from 'node:crypto';
import type { Cluster, Controller, NodeOperations } from '../../cluster/cluster.js';
import type { HostCommands } from '../../shared/commands/host-commands.js';
import type { ActivityItem, MainItem } from '../../shared/contract/events.js';
import type { MainMetrics } from '../../shared/contract/metric-layout.js';
import { NOT_JOINED, SELF } from '../../shared/contract/node-name.js';
import type { ClusterPressure } from '../../shared/contract/nodes.js';
import { Handover } from '../../shared/contract/rpc.js';
import type { ActivityReport } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { Access } from '../access/access.js';
import { writeAccessLog } from '../access/access-output.js';
import { BotAccess } from '../access/bot-access.js';
import { BulkRequests } from '../access/bulk-requests.js';
import { OperationAccess } from '../access/operation-access.js';
import { RolloutRequests } from '../access/rollout-requests.js';
import type { HostFigures } from '../bots/host-figures.js';
import type { HostPool } from '../bots/host-pool.js';
import type { KindModules } from '../bots/kind-modules.js';
import type { KindQuarantine } from '../bots/kind-quarantine.js';
import type { KindReload } from '../bots/kind-reload.js';
import type { KindSchemas } from '../bots/kind-schemas.js';
import type { KindVersions } from '../bots/kind-versions.js';
import type { BotRegistry } from '../bots/registry.js';
import type { Fleets } from '../fleet/fleets.js';
import type { Operations } from '../operations/operations.js';
import type { Rollouts } from '../operations/rollouts.js';
import type { Rules } from '../rules/rules.js';
import type { HostThread } from '../threads/host-thread.js';
import type { ServiceCommands } from './service-commands.js';

const STOPPING = 'the service is stopping';

/** The parts of main that the fronts may call. */
export interface ControllerParts {
  access: Access;
  fleets: Fleets;
  registry: BotRegistry;
  commands: ServiceCommands;
  hostCommands: HostCommands;
  hosts: Pick<HostPool, 'get'>;
  figures: Pick<HostFigures<HostThread>, 'list'>;
  schemas: KindSchemas;
  kinds: KindModules;
  quarantine: KindQuarantine;
  rules: Rules;
  versions: KindVersions;
  reload: Pick<KindReload, 'reload' | 'prepare' | 'forget'>;
  metrics: () => MainMetrics;
  operations: Operations;
  rollouts: Rollouts;
  cluster: NodeOperations & Pick<Cluster, 'bots' | 'node'>;
  /** Publishes at once. */
  tell: (...items: MainItem[]) => void;
  /** Publishes at the end of the turn. */
  publish: (...items: MainItem[]) => void;
  service: { readonly isStopping: boolean };
}

/** @returns also what has to be told which calls reach the bots of other nodes. */
export function createController({
  access: { tokens, tickets, links, security, pressure },
  fleets,
  registry,
  commands,
  hostCommands,
  hosts,
  figures,
  schemas,
  kinds,
  quarantine,
  rules,
  versions,
  reload,
  metrics,
  operations,
  rollouts,
  cluster,
  tell,
  publish,
  service,
}: ControllerParts): { controller: Controller; requests: BulkRequests } {
  const bots = new BotAccess({
    registry,
    pressure,
    commands,
    hostCommands,
    tokens: () => tokens.all(),
  });
  const seen = new OperationAccess(operations, registry);
  const requests = new BulkRequests({
    ...{ operations, registry, bots, pressure, publish },
    isInCluster: cluster.node !== null,
  });
  const rolled = new RolloutRequests({
    ...{ rollouts, operations, registry, versions, reload, bots, seen },
    isInCluster: cluster.node !== null,
  });
  const controller: Controller = {
    createPinToken: (place) => tokens.createForPin(place),
    pinRefused: ({ address, lockedForS }) => security.wrongPin(address, lockedForS),
    createToken: ({ body, by, address }) => tokens.create(body, by, address),
    createLink: ({ body, by }) => links.create(body, by),
    checkLink: ({ link }) => links.check(link),
    takeLink: ({ link }) => links.take(link),
    createLinkToken: ({ link, address }) => tokens.createForLink(link, address),
    tokens: ({ by }) => ({ tokens: tokens.list(by) }),
    token: ({ id }) => tokens.current(id),
    revokeToken: ({ id, by }) => tokens.revoke(id, by),
    tokensUsed: ({ uses }) => tokens.used(uses),
    createTicket: ({ token }) => tickets.create(token),
    redeemTicket: ({ ticket }) => ({ token: tickets.redeem(ticket) }),
    activities: ({ reports }) => tell(...activityItems(reports)),
    logAccess: ({ text }) => writeAccessLog(text),
    pressure: () => pressure.report(),
    hosts: ({ rights }) => ({ hosts: figures.list(bots.onHosts(rights)), missing: [] }),
    createBot: (input) => here(bots.create(input)),
    updateBot: async (input) => ({ elsewhere: null, change: await bots.update(input) }),
    actOnBot: (input) => here(bots.act(input)),
    endBot({ node = SELF, ...input }) {
      if (node !== SELF) throw new DroverError('not_found', `no node ${JSON.stringify(node)}`);
      return here(bots.act(input));
    },
    actOnBots: (input) => bots.actOnMany(input),
    endBots: (input) => bots.actOnMany(input),
    actOnMany: (input, gone) => requests.act(input, gone),
    endMany: (input, gone) => requests.act(input, gone),
    createMany: (input, gone) => requests.create(input, gone),
    startRollout: (input) => rolled.start(input),
    changeRollout: (input) => rolled.change(input),
    operations: (input) => seen.list(input),
    operation: (input, gone) => seen.get(input, gone),
    operationBots: (input) => seen.bots(input),
    changeOperation: (input) => seen.change(input),
    botConfig: (input) => bots.config(input),
    applyFleet: (input) => fleets.apply(input),
    exportBots: (input) => fleets.export(input),
    incidents: (input) => bots.incidents(input),
    incidentGroups: (input) => bots.incidentGroups(input),
    rules: ({ rights }) => ({ rules: rules.list(rights) }),
    createRule: ({ body, rights }) => rules.create(body, rights),
    replaceRule: ({ id, body, rights }) => rules.replace(id, body, rights),
    async removeRule({ id, rights }) {
      const { name } = await rules.remove(id, rights);
      return { name };
    },
    commandTargets: (input) => bots.commandTargets(input),
    invoke: (input, gone) => bots.invoke(input, gone),
    async connectHost({ host }) {
      const port = await hosts.get(host).connectFront();
      return new Handover({ port }, [port]);
    },
    commandFailed: (failure) => commands.failed(failure),
    kinds: ({ rights }) => ({
      kinds: schemas.infos().map((info) => ({
        ...info,
        quarantine: quarantine.holdOf(info.kind),
        changed: versions.hasChanged(info.kind),
        versions: versions.list(info.kind, bots.runningVersions(info.kind, rights)),
      })),
      failed: kinds.failed,
    }),
    reloadKinds({ kind, rights }) {
      bots.expectUnlimited(rights);
      return reload.reload(kind);
    },
    releaseKind: (input) => bots.releaseKind(input),
    metrics,
    readiness: () => ({ reason: service.isStopping ? STOPPING : whyNotReady(cluster.pressure()) }),
    nodes: () => cluster.nodes(),
    actOnNode: ({ node, action }) => cluster.actOnNode(node, action),
    rebalance: () => cluster.rebalance(),
    removeRecord: ({ bucket, key }) => cluster.removeRecord(bucket, key),
    moveBot(input) {
      // One of another node is checked there.
      if (!cluster.bots.identityOf(input.id)) bots.expectReached(input.id, input.rights);
      return cluster.moveBot(input);
    },
    removeNode: ({ node, bots: ofIt }) => cluster.removeNode(node, ofIt),
  };
  requests.through(controller);
  return { controller, requests };
}

/**
 * A node that has not joined, or is cut off, knows only its own bots as they are. The reason, which may name servers, is for
 * clients with a token: `GET /api/nodes`.
 */
function whyNotReady(cluster: ClusterPressure | null): string | null {
  if (cluster === null || cluster.state === 'on') return null;
  return cluster.state === 'joining' ? NOT_JOINED : 'this node is cut off from the cluster';
}

/** The bot is on this node, whose stream shows it. */
async function here(done: Promise<void>): Promise<null> {
  await done;
  return null;
}

/** The activities of some requests: one for each bot, or one that is about no bot. */
function activityItems(reports: readonly ActivityReport[]): ActivityItem[] {
  return reports.flatMap(({ bots, isForMany, detail, ...report }) => {
    const { operation = isForMany ? randomBytes(6).toString('hex') : null } = report;
    const about: readonly (readonly [string | null, string | null])[] =
      bots.length > 0 ? bots : [[null, report.error]];
    return about.map(([session_id, error]): ActivityItem => {
      const outcome = report.outcome === 'done' && error !== null ? 'failed' : report.outcome;
      return {
        kind: 'activity',
        event: { ...report, session_id, operation, outcome, error, detail },
      };
    });
  });
}
