// Runs in main. A node of a cluster: connects its parts, and the cluster with the service. A single service does not load this file.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { SYSTEM_CLOCK } from '../../shared/clock.js';
import type { BotSnapshot, MainItem } from '../../shared/contract/events.js';
import type { ClusterMetrics } from '../../shared/contract/metric-layout.js';
import { NODE_NAME, NOT_JOINED } from '../../shared/contract/node-name.js';
import {
  type BotsOfRemoved,
  type ClusterNode,
  type ClusterPressure,
  HELD_BOTS,
  type NodeAction,
  type NodeList,
  type Rebalanced,
} from '../../shared/contract/nodes.js';
import { reaches } from '../../shared/contract/rights.js';
import type { BroadcasterPeer, StreamIdentity } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError, StartupError } from '../../shared/errors.js';
import type { SharedLease } from '../../shared/memory/lease-deadline.js';
import { noBot } from '../../shared/no-bot.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { Cluster, Controller } from '../cluster.js';
import type { Bus, NodeService, NodeSetup, RuleRecord } from '../node-service.js';
import type { ClusterConfig } from '../wire/bus-messages.js';
import { checkCall } from '../wire/call-messages.js';
import { NodeCalls } from '../wire/calls.js';
import { NatsLink } from '../wire/connect.js';
import { clusterNames, replicasOf } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import { natsRisk } from '../wire/nats-version.js';
import { Signer } from '../wire/signer.js';
import { BotRecords, Records, refusedChange } from './bot-records.js';
import type { Bucket } from './bucket.js';
import { BucketCheck, bucketView } from './bucket-check.js';
import { ClusterIncidents, readIncident, type SharedIncident } from './cluster-incidents.js';
import { ClusterRules, readRuleRecord } from './cluster-rules.js';
import { ClusterStore } from './cluster-store.js';
import { LeaderDuties } from './leader-duties.js';
import { Membership, type MembershipOptions } from './membership.js';
import { NodeActions } from './node-actions.js';
import { CallsToMembers } from './node-calls.js';
import { Owner } from './owner.js';
import type { Members, PlacementInput } from './parts.js';
import { clusterController } from './remote-control.js';
import { RemovedNodes } from './removed-nodes.js';
import { Secrets } from './secrets.js';
import { NOT_SHARED_YET, TokenSync } from './token-sync.js';

/** How long what this node has published may take to be on the stream, in ms: then it is not waited for. */
const FLUSH_MS = 2000;
/** How long a new leader reads what the stream has, in ms: then it tries again. */
const READ_MS = 5000;
const CLOSE_MS = 1500;
/** How long a start waits for the records of the bots, in ms. */
const RECORDS_MS = 5000;
const ASK_MS = 5000;
/** How long a node whose lease may be hidden has to say that it is there, in ms. */
const ANSWERS_MS = 2000;
const UNSETTLED = 'it is not known yet which bots are on this node: their events wait';

type CheckedRecords = Pick<Bucket<unknown>, 'faults' | 'clear'>;

/** What there is once NATS has answered. */
interface Connected {
  calls: NodeCalls;
  others: CallsToMembers;
  records: BotRecords;
  ruleRecords: Records<RuleRecord>;
  removed: RemovedNodes;
  duties: LeaderDuties;
  check: BucketCheck;
  actions: NodeActions;
}

/** The cluster of a service that is a node of one. */
class NatsCluster implements Cluster {
  readonly node: string;
  readonly bots: ClusterStore;
  readonly botStore: ClusterStore;
  readonly ruleStore: ClusterRules;
  readonly ruleSharing: ClusterRules;
  readonly tokens = NOT_SHARED_YET;
  readonly #parts: NodeSetup & { config: ClusterConfig };
  /** Given by join(): nothing is asked of it before. */
  #service!: NodeService;
  readonly #incidents: ClusterIncidents;
  readonly #secrets: Secrets;
  readonly #signer: Signer;
  readonly #membership: Membership;
  readonly #link: NatsLink;
  readonly #incarnation = randomBytes(8).toString('hex');
  #bus: Bus | undefined;
  #connected: Connected | undefined;
  #nats: NatsConnection | undefined;
  #tokens: TokenSync | undefined;
  /** What fronts ask of main, once the lease was held. */
  #controller: Controller | undefined;
  #local: Controller | undefined;
  #owner: Owner | undefined;
  /** The bots of this node are there. */
  #hasBots = false;
  /** Those of the configuration are made. */
  #hasBegun = false;
  #isLeader = false;
  /** No node has told which bots there are, and none was asked for its own yet. */
  #isBlind = false;
  #stopAsking: () => void = () => {};
  /** Of the stream of the cluster, once it was joined. */
  #epoch: string | undefined;

  /** @throws StartupError when the configuration is wrong; Error of the system. */
  constructor(parts: NodeSetup) {
    this.node = nodeName(parts.config);
    const config = { ...parts.config, node: this.node };
    this.#parts = { ...parts, config };
    const { say } = parts;
    this.#secrets = new Secrets(
      { cluster: config.name, keyFile: config.secret_key_file },
      parts.schemas,
    );
    this.#signer = new Signer(this.#secrets.signerKeys(config.accept_unsigned));
    this.bots = new ClusterStore(parts.bots, config.node, this.#secrets, () =>
      refusedChange(this.#notJoined),
    );
    this.botStore = this.bots;
    this.ruleStore = new ClusterRules({
      local: parts.rules,
      rules: () => this.#service.rules,
      caughtUp: async () => {
        // What this node has said when it led before.
        await this.#flush(FLUSH_MS, false);
        const read = await this.#bus?.peer.call('readAll', { withinMs: READ_MS });
        if (!read?.isRead) throw new Error('the stream of the cluster was not read');
        await this.#service.rulesThread.catchUp();
      },
      silent: () => {
        const { members } = this.#membership;
        if (members.isLeader) return null;
        const { node, events_stalled: why } = members.get(members.leader ?? '') ?? {};
        return why ? `the node ${node}, which says what fires: ${why}` : null;
      },
      notJoined: () => this.#notJoined,
      say,
    });
    this.ruleSharing = this.ruleStore;
    this.#incidents = new ClusterIncidents({ node: config.node, store: parts.incidents });
    this.#link = new NatsLink({
      config,
      name: `drover ${config.node}`,
      onChange: () => this.#membership.linkChanged(),
      say: (line) => say('error', line),
    });
    this.#membership = new Membership({
      config,
      link: this.#link,
      dir: parts.dataDir,
      incarnation: this.#incarnation,
      startedAtMs: parts.startedAtMs,
      stopGraceMs: parts.stopGraceMs,
      replicas: replicasOf(config),
      signer: this.#signer,
      describe: () => this.#describe(),
      hasBots: (node) => (this.#connected?.records.on(node).size ?? 0) > 0,
      answers: async (node) => {
        // Every release has this one, and nothing of it is new.
        const asked = this.#expected.calls.call(node, 'tokensUsed', { uses: {} }, ANSWERS_MS);
        return await asked.then(
          () => true,
          () => false,
        );
      },
      removed: {
        has: (node) => this.#connected?.removed.has(node) ?? false,
        identity: async (node) => {
          await this.#link.connected();
          return this.#expected.removed.identity(node);
        },
        forget: (node) => this.#expected.removed.forget(node),
      },
      events: {
        onHeld: () => {
          this.bots.leaseHeld();
          this.#held();
        },
        onExpiring: () => this.#leaseLost(),
        onLost: () => this.#leaseLost(),
        onDeadline: () => this.#service.leaseChanged(),
        onElected: () => this.#elected(true),
        onDeposed: () => this.#elected(false),
        onStatus: () => {},
        onRemoved: (error) => this.#service.removed(error),
        say,
      },
    });
  }

  get lease(): SharedLease {
    return this.#membership.shared;
  }

  controller(local: Controller): Controller {
    this.#local = local;
    // It is another one once NATS is there, and again once the lease is held.
    const names = Object.keys(local) as (keyof Controller)[];
    const present = (name: keyof Controller) => {
      const { [name]: method } = this.#controller ?? (this.#local as Controller);
      return method as (...input: unknown[]) => unknown;
    };
    const delegating = names.map((name) => [
      name,
      (...input: unknown[]) => present(name)(...input),
    ]);
    return Object.fromEntries(delegating) as Controller;
  }

  async join(service: NodeService): Promise<void> {
    this.#service = service;
    const connected = this.#link.connected().then((nats) => this.#connect(nats));
    connected.catch(() => {});
    // Before the first client: it is not to take the node's own stream for that of the cluster.
    this.#service.fronts.tellClusterState({ state: 'joining', reason: null });
    await this.#membership.start();
    const { state, reason } = this.#membership.status;
    if (state !== 'on') this.#service.fronts.tellClusterState({ state, reason });
    const records = this.#connected?.records;
    if (!records || records.fault === null) return;
    const loaded = new Deferred();
    const unlisten = records.onLoaded(() => loaded.resolve());
    await withTimeout(loaded.promise, RECORDS_MS, () => {});
    unlisten();
  }

  begin(): void {
    this.#hasBots = true;
    this.#startBus();
    if (this.#connected) this.#own(this.#connected);
  }

  begun(): void {
    this.#hasBegun = true;
    if (this.#membership.isHeld) this.#held();
  }

  reattach(broadcaster: BroadcasterPeer): void {
    this.#bus?.reattach(broadcaster);
  }

  async flush(): Promise<void> {
    await this.#flush(CLOSE_MS, true);
  }

  async close(): Promise<void> {
    const { duties, check, records, removed, calls, others } = this.#connected ?? {};
    this.#owner?.close();
    this.#stopAsking();
    check?.stop();
    duties?.close();
    this.#tokens?.close();
    this.ruleStore.close();
    this.#incidents.close();
    others?.close();
    await this.#bus?.close(0);
    await this.#membership.close();
    records?.close();
    removed?.records.close();
    await calls?.close();
    await this.#link.close();
  }

  nodes(): NodeList {
    const { nodes, cluster } = this.#membership.nodes();
    const { state, reason } = this.pressure();
    const duties = this.#connected?.duties;
    const bad = Object.entries(this.#buckets).flatMap(([bucket, { faults }]) =>
      [...faults].map(([key, fault]) => ({ bucket, key, reason: fault.reason })),
    );
    return {
      cluster,
      state,
      reason,
      ...(bad.length > 0 && { bad_records: bad.slice(0, HELD_BOTS) }),
      nodes: nodes.map((node) =>
        node.state === 'draining' && duties
          ? { ...node, stuck: duties.stuckOn(node.node).slice(0, HELD_BOTS) }
          : node,
      ),
    };
  }

  async actOnNode(node: string, action: NodeAction): Promise<ClusterNode> {
    return this.#expected.actions.act(node, action);
  }

  async removeRecord(bucket: string, key: string): Promise<void> {
    const buckets: Record<string, CheckedRecords> = this.#buckets;
    const isCleared = Object.hasOwn(buckets, bucket) && (await buckets[bucket]?.clear(key));
    if (!isCleared) {
      throw new DroverError('not_found', `the bucket ${bucket} has no bad record ${key}`);
    }
  }

  async rebalance(): Promise<Rebalanced> {
    const { moves } = await this.#askLeader<{ moves: number }>('rebalance', null);
    return { moving: moves };
  }

  async moveBot({ id, node, rights }: Parameters<Cluster['moveBot']>[0]): Promise<Rebalanced> {
    const record = this.#expected.records.get(id);
    if (!record || !reaches(rights.reach, id, record.spec.labels)) throw noBot(id);
    return this.#askLeader('move', { id, node });
  }

  async removeNode(node: string, bots: BotsOfRemoved | null): Promise<void> {
    await this.#askLeader('removeNode', { node, bots });
  }

  pressure(): ClusterPressure {
    const { state, reason } = this.#membership.status;
    const bus = this.#bus?.status;
    const { unpublished = 0, behind = 0 } = this.#bus?.figures ?? {};
    if (state === 'on') {
      const keyFault = this.#tokens?.keyFault ?? null;
      if (keyFault !== null) return { state: 'joining', reason: keyFault, unpublished, behind };
      const { records, ruleRecords } = this.#connected ?? {};
      const bucketFault = records?.fault ?? this.#tokens?.fault ?? ruleRecords?.fault ?? null;
      const now = records?.wasLoaded ? 'cut_off' : 'joining';
      if (bucketFault !== null) return { state: now, reason: bucketFault, unpublished, behind };
      if (!this.#owner?.isSettled) {
        const unsettled = this.#owner?.wasSettled ? 'cut_off' : 'joining';
        return { state: unsettled, reason: UNSETTLED, unpublished, behind };
      }
    }
    if (state !== 'on' || !bus || bus.state === 'on') return { state, reason, unpublished, behind };
    return { state: bus.state, reason: bus.reason, unpublished, behind };
  }

  metrics(): ClusterMetrics {
    return nodeMetrics(this.#membership.members, this.pressure(), {
      leftovers: this.bots.leftovers.size,
      diverged: this.#isLeader ? (this.#connected?.check.faults ?? 0) : 0,
      hasKey: this.#hasKey,
    });
  }

  get #hasKey(): boolean {
    return this.#secrets.check !== null && (this.#tokens?.keyFault ?? null) === null;
  }

  /** By the names that operators know. */
  get #buckets() {
    return {
      nodes: this.#membership.bucket,
      ...(this.#connected && {
        bots: this.#connected.records.bucket,
        rules: this.#connected.ruleRecords.bucket,
        removed: this.#connected.removed.records.bucket,
      }),
      ...(this.#tokens && { tokens: this.#tokens.bucket }),
      ...(this.#incidents.bucket && { incidents: this.#incidents.bucket }),
    };
  }

  async #askLeader<T>(method: string, input: unknown): Promise<T> {
    const { calls } = this.#expected;
    const { leader } = this.#membership.members;
    if (leader === null) throw new DroverError('unavailable', 'no node leads the cluster', 1);
    return (await calls.call(leader, method, input, ASK_MS)) as T;
  }

  get #expected(): Connected {
    if (this.#connected) return this.#connected;
    throw new DroverError('unavailable', this.#notJoined, 1);
  }

  get #notJoined(): string {
    const { reason } = this.#membership.status;
    return `${NOT_JOINED}: ${reason ?? 'it is connecting'}`;
  }

  #startBus(): void {
    const { config, say } = this.#parts;
    const bus = this.#service.startBus({
      config,
      signer: this.#secrets.signerKeys(config.accept_unsigned),
      incarnation: this.#incarnation,
      ready: (identity, isBlind) => {
        this.#isBlind = isBlind;
        this.#askForBots();
        void this.#showStream(identity);
      },
      lost: (reason) => {
        this.#service.fronts.detachCluster();
        this.#streamChanged(reason);
        say('error', `the bus of the cluster was lost: ${reason}`);
      },
      changed: ({ state, reason }, notice) => {
        this.#service.fronts.tellClusterState({ state, reason });
        this.#streamChanged(state === 'on' ? null : (reason ?? 'it is connecting'));
        if (notice !== null) say('warn', notice);
      },
      // The lease says whether this node may publish; its next renewal finds out.
      fenced: () => this.#membership.linkChanged(),
    });
    this.#bus = bus;
    const { members } = this.#membership;
    const tell = (): void => {
      bus.members = members
        .all()
        .map(({ node, isLive, renewed_at_ms: seenMs }) => ({ node, isLive, seenMs }));
    };
    members.onChange(tell);
    tell();
  }

  /** @param stalled why nothing comes; null when it does. */
  #streamChanged(stalled: string | null): void {
    this.#service.rulesThread.stall(stalled !== null);
    this.ruleStore.streamChanged(stalled);
  }

  async #showStream(stream: StreamIdentity): Promise<void> {
    const bus = this.#bus as Bus;
    const { followStream, fronts } = this.#service;
    followStream(stream, (reader, port) => bus.attachReader(reader, port));
    await fronts.attachCluster({
      stream,
      connect: (front) => {
        const ports = bus.attachFront(front);
        if (!ports) throw new DroverError('unavailable', 'the bus of the cluster was lost');
        return { broadcaster: ports.stream, history: ports.history };
      },
      detach: (front) => bus.detachFront(front),
    });
    const isAnother = this.#epoch !== undefined && this.#epoch !== stream.epoch;
    this.#epoch = stream.epoch;
    await this.#sayDeleted();
    // The stream was made again: the other nodes learn from it which bots there are.
    if (isAnother) void this.#service.events.publish(...this.#ownSnapshots());
  }

  /** Bots that this node had deleted, and was killed before it could say so: no other node says it while this one is not lost. */
  async #sayDeleted(): Promise<void> {
    const { records } = this.#connected ?? {};
    if (!this.#hasBots || !records?.wasLoaded) return;
    const shown = await this.#bus?.peer.call('deletedHere', null).catch(() => null);
    const items = (shown?.sessions ?? [])
      .map((json) => (JSON.parse(json) as { snapshot: BotSnapshot }).snapshot)
      .filter(({ id }) => records?.isDeleted(id) && !this.#service.registry.specOf(id))
      .map((snapshot) => sessionItem(snapshot.id, snapshot));
    if (items.length > 0) await this.#service.events.publish(...items);
  }

  #askForBots(): void {
    if (!this.#isBlind || !this.#connected) return;
    this.#isBlind = false;
    const { others, records } = this.#connected;
    this.#stopAsking();
    this.#stopAsking = askForSnapshots(others, this.#membership.members, records);
  }

  /** Changes nothing: the broadcaster publishes the snapshots as they are. */
  #ownSnapshots(): MainItem[] {
    return this.#service.registry.specs().map(({ id }) => sessionItem(id, {}));
  }

  /** NATS is there for the first time. */
  #connect(nats: NatsConnection): void {
    this.#nats = nats;
    const { config, say } = this.#parts;
    const { members } = this.#membership;
    const names = clusterNames(config.name);
    const replicas = replicasOf(config);
    const calls = new NodeCalls(nats, {
      context: 'call',
      subject: names.calls,
      node: config.node,
      signer: this.#signer,
      check: checkCall,
    });
    const others = new CallsToMembers(calls, members);
    const common = { replicas, signer: this.#signer, say };
    const records = new BotRecords(nats, { ...common, bucket: names.bots });
    this.bots.attach(records);
    const ruleRecords = new Records<RuleRecord>(nats, {
      ...common,
      bucket: names.rules,
      noun: 'rule',
      read: readRuleRecord,
    });
    this.ruleStore.attach(ruleRecords);
    this.#incidents.attach(
      new Records<SharedIncident>(nats, {
        ...common,
        bucket: names.incidents,
        noun: 'incident',
        read: readIncident,
      }),
    );
    const removed = new RemovedNodes(nats, { ...common, bucket: names.removed });
    removed.records.onChange(() => this.#membership.nodeRemoved());
    const check = new BucketCheck({
      buckets: [
        { name: names.nodes, known: () => this.#membership.leases() },
        { name: names.bots, known: () => records.revisions() },
        { name: names.tokens, known: () => [] },
        { name: names.rules, known: () => ruleRecords.revisions() },
        { name: names.removed, known: () => removed.records.revisions() },
      ],
      view: (bucket) => bucketView(nats, bucket),
      clock: SYSTEM_CLOCK,
      say,
    });
    const duties = new LeaderDuties({
      members,
      records,
      removed,
      fence: async (node, bots) => {
        void check.look();
        const of = members.get(node)?.incarnation ?? null;
        const fence = async (deleted: string[]): Promise<string[]> =>
          (await this.#bus?.peer.call('fence', { node, of, bots, deleted }))?.others ?? [];
        // Their node had removed the record, and was lost before it could say so.
        const deleted = (await fence([])).filter((id) => records.isDeleted(id));
        if (deleted.length > 0) await fence(deleted);
      },
      lost: (member) => this.#incidents.lost(member, records),
      say,
    });
    calls.serve({
      place: (wish: PlacementInput) => duties.place(wish),
      rebalance: () => duties.rebalance(),
      move: (input: Parameters<LeaderDuties['move']>[0]) => duties.move(input),
      removeNode: (input: Parameters<LeaderDuties['removeNode']>[0]) => duties.removeNode(input),
      showBots: async () => {
        duties.showLost();
        await this.#service.events.publish(...this.#ownSnapshots());
      },
    });
    const actions = new NodeActions(members, calls, (wanted) => this.#membership.want(wanted));
    this.#connected = { calls, others, records, ruleRecords, removed, duties, check, actions };
    if (this.#hasBots) this.#own(this.#connected);
    this.#askForBots();
    if (this.#isLeader) this.#elected(true);
    const risk = natsRisk(nats.info?.version ?? '', replicas);
    if (risk !== null) say('warn', `cluster ${config.name}: ${risk}`);
  }

  /** Bots are there, and so is NATS. */
  #own({ records }: Connected): void {
    const { config, say } = this.#parts;
    this.#owner = new Owner({
      node: config.node,
      bots: this.#service.registry,
      store: this.bots,
      records,
      settled: async (keep) => {
        await this.#tokens?.expectKey();
        await this.#bus?.publish(keep);
        await this.#sayDeleted();
      },
      flush: () => this.#flush(FLUSH_MS, false),
      say,
    });
    if (this.#hasBegun && this.#membership.isHeld) this.#held();
  }

  /** Resolves when no bot runs that needs the lease. */
  async #leaseLost(): Promise<void> {
    this.bots.leaseLost();
    this.#bus?.hold();
    await this.#owner?.leaseExpiring();
  }

  #held(): void {
    const connected = this.#connected;
    if (!connected) return;
    this.#tokens ??= this.#shareTokens(connected);
    this.#controller ??= clusterController(this.#local as Controller, {
      ...connected,
      members: this.#membership.members,
      tokens: this.#tokens,
      incidents: this.#incidents,
      secrets: this.#secrets,
      snapshotOf: (id) => this.#service.events.snapshot(id),
      invokeMs: this.#parts.invokeMs,
    });
    if (this.#hasBegun) this.#owner?.leaseHeld();
  }

  /** Not before the lease is held: it removes tokens of this node that this node does not know. */
  #shareTokens({ calls, others }: Connected): TokenSync {
    const { config, dataDir, say } = this.#parts;
    return new TokenSync(this.#nats as NatsConnection, {
      bucket: clusterNames(config.name).tokens,
      replicas: replicasOf(config),
      signer: this.#signer,
      keyCheck: this.#secrets.check,
      knowsKey: (check) => this.#secrets.knows(check),
      say,
      node: config.node,
      identity: this.#membership.identity,
      dataDir,
      registry: this.#service.tokens,
      calls,
      others,
    });
  }

  #elected(isLeader: boolean): void {
    this.#isLeader = isLeader;
    this.ruleStore.elected(isLeader);
    this.#incidents.elected(isLeader);
    const { duties, check } = this.#connected ?? {};
    if (isLeader) {
      duties?.elected();
      check?.start();
    } else {
      duties?.deposed();
      check?.stop();
    }
  }

  #describe(): ReturnType<MembershipOptions['describe']> {
    const { figures, ...rest } = this.#service.describe();
    const leftovers = [...this.bots.leftovers].map(([bot, reason]) => ({ bot, reason }));
    return {
      ...rest,
      leftovers: leftovers.slice(0, HELD_BOTS),
      has_key: this.#hasKey,
      events_stalled: this.ruleStore.stalled ?? '',
      figures: {
        ...figures,
        bots: figures.bots - leftovers.length,
        unpublished: this.#bus?.figures.unpublished ?? 0,
      },
    };
  }

  async #flush(withinMs: number, isLast: boolean): Promise<void> {
    if (this.#bus?.status.state !== 'on') return;
    await this.#bus.peer.call('flush', { withinMs, isLast }).catch(() => {});
  }
}

/** As {@link singleService}, for a node. @throws StartupError when the configuration is wrong. */
export const natsCluster = (setup: NodeSetup): Cluster => new NatsCluster(setup);

function nodeName({ node }: NodeSetup['config']): string {
  const name = node ?? hostname().replaceAll(/[^A-Za-z0-9_-]/g, '-');
  if (NODE_NAME.test(name)) return name;
  throw new StartupError(
    `the host name ${JSON.stringify(name)} cannot be the name of a node: set cluster.node`,
  );
}

/** A change of a bot's snapshot. */
function sessionItem(id: string, patch: Partial<BotSnapshot>): MainItem {
  return { kind: 'session', id, patch };
}

function nodeMetrics(
  members: Members,
  pressure: ClusterPressure,
  more: Pick<ClusterMetrics, 'leftovers' | 'diverged' | 'hasKey'>,
): ClusterMetrics {
  const nodes: ClusterMetrics['nodes'] = { live: 0, cordoned: 0, draining: 0, lost: 0 };
  for (const { isLive, wanted } of members.all()) nodes[isLive ? wanted : 'lost'] += 1;
  const { state, unpublished, behind } = pressure;
  return { nodes, isLeader: members.isLeader, isOn: state === 'on', unpublished, behind, ...more };
}

/**
 * A node that joins takes the snapshots of all bots from another. When none could answer, it asks each node to publish those of its bots:
 * it would not know of bots to which nothing happens. Asks each node once it is there, until all that have bots were asked.
 * @returns a function that ends it.
 */
function askForSnapshots(
  others: Pick<CallsToMembers, 'others' | 'call'>,
  members: Pick<Members, 'self' | 'onChange'>,
  records: Pick<BotRecords, 'fault' | 'nodes'>,
): () => void {
  const asked = new Set([members.self]);
  const underWay = new Set<string>();
  const ask = async (node: string): Promise<void> => {
    if (asked.has(node) || underWay.has(node)) return;
    underWay.add(node);
    // Renewals of leases are changes: it is asked again with the next one.
    await others.call(node, 'showBots', null, ASK_MS).then(
      () => asked.add(node),
      () => {},
    );
    underWay.delete(node);
  };
  const look = (): void => {
    const present = others.others();
    for (const node of present) void ask(node);
    const all = [...present, ...records.nodes()];
    if (records.fault === null && all.every((node) => asked.has(node))) unlisten();
  };
  const unlisten = members.onChange(look);
  look();
  return unlisten;
}
