// Runs in main. What a cluster asks of the service that is a node of it.

import type { MessagePort } from 'node:worker_threads';
import type { BotAction, BotSpec, IncidentReport } from '../shared/contract/bots.js';
import type { Config } from '../shared/contract/config.js';
import type { Level } from '../shared/contract/event-kinds.js';
import type { BotSnapshot, MainItem } from '../shared/contract/events.js';
import type { ClusterNode, ClusterStreamState } from '../shared/contract/nodes.js';
import type { Rpc } from '../shared/contract/rpc.js';
import type { AlertEvent, RuleSettings } from '../shared/contract/rules.js';
import type { BroadcasterPeer, StreamIdentity } from '../shared/contract/threads.js';
import type { TokenRecord, TokenUse } from '../shared/contract/tokens.js';
import type { StartupError } from '../shared/errors.js';
import type { BusFigures } from '../shared/memory/bus-figures.js';
import type {
  BusMember,
  BusStatus,
  ClusterBusEvents,
  ClusterBusMethods,
  ClusterBusStart,
} from './wire/bus-messages.js';

/** What a node has before the rest of its service is composed. */
export interface NodeSetup {
  config: Config['cluster'];
  dataDir: string;
  startedAtMs: number;
  stopGraceMs: number;
  /** `invoke.timeout_ms`. */
  invokeMs: number;
  schemas: SecretFields;
  bots: LocalBots;
  rules: LocalRules;
  incidents: LocalIncidents;
  say: (level: Level, line: string) => void;
}

/** The rest of the service, which is composed with what the cluster gives it. */
export interface NodeService {
  /** The node's own stream, for rules. */
  ownStream: {
    /** Rules look at it from now on. */
    follow(): void;
    reattach(broadcaster: BroadcasterPeer): void;
  };
  /** Rules look at the stream of the cluster from now on. */
  followStream: (stream: StreamIdentity, attach: AttachReader) => void;
  startBus: (options: BusOptions) => Bus;
  events: {
    publish(...items: MainItem[]): Promise<unknown>;
    /** As the stream shows it, after everything until now. */
    snapshot(bot: string): Promise<BotSnapshot | null>;
  };
  fronts: {
    /** Shows the stream of the cluster. Resolves when all fronts do. */
    attachCluster(cluster: FrontCluster): Promise<void>;
    detachCluster(): void;
    /** Tells clients whether that stream is kept current. */
    tellClusterState(state: ClusterStreamState): void;
  };
  registry: OwnedBots;
  tokens: NodeTokens;
  rules: NodeRules;
  rulesThread: {
    /** While the stream is stalled, the time of rules stops too. */
    stall(isStalled: boolean): void;
    /** Resolves when it has told what is due to what is on the ring now. */
    catchUp(): Promise<void>;
  };
  /** Asked before each renewal of the lease. */
  describe: () => Pick<ClusterNode, 'address' | 'kinds'> & {
    figures: Omit<ClusterNode['figures'], 'unpublished'>;
  };
  leaseChanged: () => void;
  /** The node was removed from the cluster: the service must end. */
  removed: (error: StartupError) => void;
}

/** Connects a reader of a stream's ring with the thread that writes it: BroadcasterFrontMethods. */
export type AttachReader = (reader: number, port: MessagePort) => void;

export interface SecretFields {
  /** A configuration without the values of its secrets. */
  withoutSecrets(kind: string, config: BotSpec['config']): BotSpec['config'];
}

export interface SpecStore {
  all(): BotSpec[];
  put(spec: BotSpec): Promise<void>;
  /** New bots: all or none, in a single service. */
  putMany(specs: readonly BotSpec[]): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The bots on the disk of this node. */
export interface LocalBots extends SpecStore {
  has(id: string): boolean;
  /** Whether another node of the cluster may have it: the disk keeps it until that is known. */
  isHandedOver(id: string): boolean;
  setHandedOver(id: string, isGiven: boolean): Promise<void>;
}

export interface RuleStore {
  all(): RuleSettings[];
  put(rule: RuleSettings): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The rules on the disk of this node. */
export interface LocalRules extends RuleStore {
  /** `changedAt` is that of the record of which it is a copy, null when it is none. */
  get(id: string): { rule: RuleSettings; changedAt: number | null } | undefined;
  put(rule: RuleSettings, changedAt?: number | null): Promise<void>;
}

/** The incidents on the disk of this node. */
export interface LocalIncidents {
  /** Called with each report that was stored, and again when it has repeated itself. */
  changed: (report: IncidentReport) => void;
  /** The newest so many, the oldest first. */
  newest(count: number): Iterable<IncidentReport>;
}

/** The bots of this node, as its records change them. */
export interface OwnedBots {
  specs(): Readonly<BotSpec>[];
  specOf(id: string): Readonly<BotSpec> | undefined;
  act(id: string, action: BotAction): Promise<void>;
  /** Takes a bot that another node had, or has given to this one. Resolves when it runs, if it is to, or waits for its turn. */
  adopt(spec: BotSpec): Promise<void>;
  /** Stops a bot that another node has from now on. @param forget removes it from this node's disk. */
  release(id: string, forget: () => Promise<void>): Promise<void>;
  keepStopped(id: string, reason: string): Promise<void>;
  /** Ends {@link keepStopped}: it is started if it was to run. */
  allowStart(id: string): Promise<void>;
  assignTerm(id: string, term: number): Promise<void>;
}

/** The tokens that the fronts of this node accept. */
export interface NodeTokens {
  /** The tokens are those of a cluster from now on. */
  share(sharing: TokenSharing): void;
  has(id: string): boolean;
  /** Those that this node has made. */
  own(): TokenRecord[];
  ownRecord(id: string): TokenRecord | undefined;
  /** Accepts one that another node has made; every front does when this resolves. It is not stored. */
  learn(record: TokenRecord, use: TokenUse | null): Promise<void>;
  /** Another node has removed it: no front accepts it when this resolves. */
  forget(id: string): Promise<void>;
  revoke(id: string, by: string): Promise<void>;
  usedElsewhere(uses: Readonly<Record<string, TokenUse>>): void;
  lastUse(id: string): TokenUse | null;
}

/** A rule as all nodes of a cluster have it: value of a key in the bucket of rules. */
export interface RuleRecord {
  /** Version of the format (PROTOCOL). */
  v: number;
  rule: RuleSettings;
  /** When the cluster got it, in Unix epoch ms: of two with one name the later is refused. */
  made_at_ms: number;
  /** When somebody changed it last: its state begins again. */
  changed_at_ms: number;
  /** The last alert since then; null for none. */
  alert: AlertEvent | null;
}

/** What rules need of a cluster. */
export interface RuleSharing {
  /** Why this node does not know which rules fire, in one line; null when it does. */
  readonly fault: string | null;
  /** It is this node that says what has fired. */
  readonly speaks: boolean;
  /** Stores an alert with its rule, unless that has changed: `learn` of the rules gets it then. Never rejects. */
  raise(id: string, alert: AlertEvent): Promise<void>;
}

/** Tells the other nodes about tokens. */
export interface TokenSharing {
  /** Resolves when the cluster takes new tokens. @throws DroverError `unavailable` when that is not soon. */
  admit(): Promise<void>;
  /**
   * Every front of this node accepts it. Resolves when every live node that answers does.
   * @throws DroverError `unavailable` when the cluster does not have it; it gets it later, unless it is removed.
   */
  added(record: TokenRecord): Promise<void>;
  /** This node has removed it. */
  removed(id: string): void;
  /** A last use that this node did not know. */
  used(id: string, use: TokenUse): void;
  /** Whether this node knows, but for some seconds, when its tokens were used on the others. */
  readonly isCurrent: boolean;
}

/** The rules that this node looks at. */
export interface NodeRules {
  /** What the cluster has of a rule; null when it was removed. @param isNews an alert may not have been said yet. */
  learn(id: string, record: RuleRecord | null, isNews: boolean): void;
  /** The cluster has no record of it that can be read. @param fault why, in one line; null when there is none at all. */
  lack(id: string, fault: string | null): void;
  /** This node speaks from now on. */
  speak(): void;
  /** Looks for what has changed since the last alerts. */
  decide(): void;
}

export interface BusOptions extends Pick<ClusterBusStart, 'config' | 'signer' | 'incarnation'> {
  /** There is a stream of the cluster, or another one: fronts get channels to it. */
  ready: (stream: StreamIdentity, isBlind: boolean) => void;
  /** The stream of the cluster is gone until the next `ready`. */
  lost: (reason: string) => void;
  changed: (status: BusStatus, notice: string | null) => void;
  /** Another node has ended this one's place in the stream. */
  fenced: () => void;
}

/** The stream of the cluster, and how a front gets its channels to the thread that has it. */
export interface FrontCluster {
  stream: StreamIdentity;
  /** Opens the channels of a front; those that it had are closed. */
  connect: (front: number) => { broadcaster: MessagePort; history: MessagePort };
  /** The front has ended. */
  detach: (front: number) => void;
}

/** The bus thread. */
export interface Bus {
  readonly peer: Pick<Rpc<ClusterBusEvents, ClusterBusMethods>, 'call'>;
  readonly status: BusStatus;
  readonly figures: BusFigures;
  reattach(broadcaster: BroadcasterPeer): void;
  /** Channels for a front; undefined when there is no bus thread now. */
  attachFront(front: number): { stream: MessagePort; history: MessagePort } | undefined;
  detachFront(front: number): void;
  attachReader: AttachReader;
  /** The node holds its lease. @param keep its bots. */
  publish(keep: string[]): void;
  /** The node has lost its lease. */
  hold(): void;
  /** The nodes of the cluster: their journals are asked about the past. */
  set members(members: BusMember[]);
  close(withinMs: number): Promise<void>;
}
