// The messages between threads: start data, and the methods that each end of a channel offers (rpc.ts carries them).
// docs/OWNERSHIP.md lists the channels.

import type { MessagePort, Transferable } from 'node:worker_threads';
import type { PlainError } from '../errors.js';
import type { SharedCounters } from '../memory/counters.js';
import type { SharedRing } from '../memory/layout.js';
import type { SharedLease } from '../memory/lease-deadline.js';
import type { SharedLag } from '../memory/loop-lag.js';
import type { SharedNodeNames } from '../memory/node-names.js';
import type { SharedPinBucket } from '../memory/pin-bucket.js';
import type { SharedQuota } from '../memory/quota.js';
import type { CrowdedAddresses } from './addresses.js';
import type { InvokeOutput, Ticket } from './api.js';
import type {
  ActionOutcome,
  BotAction,
  BotActionsBody,
  BotConfig,
  CreateBotBody,
  EndingAction,
  Incident,
  IncidentReport,
  KindList,
  KindReleased,
  LoadedKinds,
  ReloadedKinds,
  UpdateBotBody,
} from './bots.js';
import type { Config } from './config.js';
import type { BotChange } from './config-changes.js';
import type { ActivityEvent, BotSnapshot, MainItem } from './events.js';
import type { FleetBody, FleetExport, FleetPlan } from './fleet.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  HostedState,
  KeptSource,
  KindFailure,
  LateError,
  LeftBehind,
  ReadFiles,
} from './host-messages.js';
import type { HostList } from './hosts.js';
import type { GroupQuery, IncidentGroups } from './incident-groups.js';
import type {
  Asked,
  FieldHistoryRequest,
  JournalStatus,
  Page,
  PageRequest,
  ReplayPart,
  ReplayRequest,
  StatesRequest,
  StatsRequest,
} from './journal-messages.js';
import type { JsonObject } from './json.js';
import type { MainMetrics } from './metric-layout.js';
import type {
  BotsOfRemoved,
  ClusterNode,
  ClusterStreamState,
  NodeAction,
  NodeList,
  Rebalanced,
} from './nodes.js';
import type { BotResult, OperationChange, RolloutChange } from './operation-bounds.js';
import type { Operation, OperationBots, OperationList, OperationOptions } from './operations.js';
import type { PressureReport, Shortage } from './pressure.js';
import type { Programs } from './programs.js';
import type { StartRolloutBody } from './rollouts.js';
import type { Rpc } from './rpc.js';
import type { CreateRuleBody, Rule, RuleList } from './rules.js';
import type { Block, FrontBlock, LoopEvents } from './slow-turn.js';
import type {
  ClientOrigin,
  CreateTokenBody,
  LinkOffer,
  Rights,
  SignInLink,
  TakenLink,
  TokenInfo,
  TokenRecord,
  TokenUse,
} from './tokens.js';
import type { UsageReport } from './usage.js';

/** A line of a bot as an incident report shows it. */
export interface LastLine {
  /** When it was written, in ms since 1970. */
  at: number;
  /** `<level> <bot> <scope>: <message>`, at most 1,024 UTF-16 units. */
  text: string;
}

/** Where a thread counts its metrics. */
export interface Counts {
  counters: SharedCounters;
  /** Its block. */
  block: number;
  lag: SharedLag;
}

/** Identifies the stream: its ring, its numbering, and the key of its name hashes. */
export interface StreamIdentity {
  ring: SharedRing;
  epoch: string;
  hashKey: string;
  /** The nodes that its frames are from; only the stream of a cluster has them. */
  nodes?: SharedNodeNames;
}

// ---- main → broadcaster -------------------------------------------------------------------------------------------

export interface BroadcasterStart {
  stream: StreamIdentity;
  counts: Counts;
}

/** Methods of main that the broadcaster calls. */
export type BroadcasterEvents = LoopEvents;

export type BroadcasterPeer = Rpc<BroadcasterEvents, BroadcasterMethods>;

export type BroadcasterMethods = {
  /** Takes batches from a bot host's port from now on. */
  attachHost(input: { host: number; port: MessagePort; inFlight: SharedArrayBuffer }): void;
  /** Takes what the host still has in its port, then forgets it. */
  detachHost(input: { host: number }): void;
  /** Gives a front its channel: the doorbell and the snapshots. */
  attachFront(input: { front: number; port: MessagePort }): void;
  detachFront(input: { front: number }): void;
  /**
   * Gives a new broadcaster all snapshots. It publishes a `gap` for events that were in flight to the dead one, then these
   * snapshots.
   */
  restore(input: { snapshots: BotSnapshot[] }): void;
  /**
   * Publishes main's items after everything that hosts have posted until now.
   * Answers with the sequence number after the last.
   */
  publish(input: { items: MainItem[] }): { head: number };
  /** The last lines of these bots, oldest first, after all that hosts have posted until now. */
  lastLines(input: { bots: string[] }): { lines: LastLine[] };
  /** A bot as the stream shows it, after all that hosts have posted until now; null when there is none. */
  snapshot(input: { bot: string }): { snapshot: Readonly<BotSnapshot> | null };
  /** For drills: blocks its event loop for so long. */
  block(input: Block): void;
  shutdown(input: null): void;
};

// ---- front ↔ broadcaster ------------------------------------------------------------------------------------------

export type BroadcasterFrontMethods = {
  /** JSON of the `session` event of every bot, as of just before frame `next`. */
  baseline(input: null): { next: number; sessions: string[] };
};

export type FrontBellMethods = {
  /** There are frames after the one that the front had seen when it armed its doorbell. */
  wake(input: null): void;
};

// ---- main ↔ front -------------------------------------------------------------------------------------------------

export interface FrontStart {
  front: number;
  config: Config;
  /** Null when it is switched off. */
  pin: string | null;
  bucket: SharedPinBucket;
  /** Open streams. */
  quota: SharedQuota<'perToken' | 'perAddress'>;
  connections: SharedQuota<'perAddress'>;
  stream: StreamIdentity;
  counts: Counts;
  /** The histograms of all loops. */
  lags: SharedArrayBuffer;
  tokens: TokenRecord[];
  /** The directory of runs, which may be missing. */
  runs: string;
  /** Why new streams are to be refused, null when they are not. */
  shortage: Shortage | null;
}

/** A front's answer when it has bound the port. */
export interface Bound {
  port: number;
  /** Which engine it is and why, in a line. */
  engine: string;
  /** Whether it needs {@link FrontMethods.crowded} to know which addresses have too many connections. */
  wantsCensus: boolean;
}

/** The stream of the cluster, for a front. */
export interface ClusterView {
  stream: StreamIdentity;
  broadcaster: MessagePort;
  history: MessagePort;
}

export type FrontMethods = {
  /** The channel to the broadcaster; a new one replaces the old. */
  attachBroadcaster(input: { port: MessagePort }): void;
  /** This host ends or is lost: the channel to it is of no use any more. Its successor has the same number. */
  detachHost(input: { host: number }): void;
  /** The channel to the journal; a new one replaces the old. There is none when the journal is off. */
  attachJournal(input: { port: MessagePort }): void;
  /**
   * Binds the port; answers with the real one. `shared` lets other fronts bind it too; `probe` makes sure before that
   * nobody else has it. Throws with the reason when it cannot be bound.
   */
  listen(input: { port: number; shared: boolean; probe: boolean }): Bound;
  /** Loads certificate and key from these files, to be used from {@link commitTls} on. Throws when they cannot be used. */
  prepareTls(input: { cert: string; key: string }): void;
  /** Uses what was prepared for new connections. */
  commitTls(input: null): void;
  /** Discards what was prepared, if anything. */
  rollbackTls(input: null): void;
  /** From the answer on, the token is accepted. */
  addToken(input: { token: TokenRecord }): void;
  /** From the answer on, the token is refused and its streams are closed. */
  removeToken(input: { id: string }): void;
  /** Why new streams are to be refused, null when they are not. */
  pressure(input: { shortage: Shortage | null }): void;
  /**
   * From the answer on, the stream of the cluster is what clients get that name no node. Its channels are as those of the node's own
   * stream: `broadcaster` has the baseline and the doorbell, `history` is as a journal. Another one replaces it: streams of the old
   * one end.
   */
  attachCluster(input: ClusterView): void;
  /** There is no stream of the cluster any more: clients get the node's own. */
  detachCluster(input: null): void;
  /** Whether the stream of the cluster is kept current. Said on the streams that show the cluster. */
  clusterState(input: ClusterStreamState): void;
  /** Which addresses get no more connections, and which have to leave some. */
  crowded(input: CrowdedAddresses): void;
  /** Ends every stream once it has had the frames below `head`, then closes every socket and ends the thread. */
  close(input: { head: number; withinMs: number }): void;
  /** For drills: breaks the front as a defect in it would. */
  drill(input: null): void;
  /** For drills: blocks its event loop as a request may. */
  block(input: FrontBlock): void;
};

/** Methods of main that fronts call. */
export type ControlMethods = LoopEvents & {
  /**
   * Makes an `admin` token for a right PIN and keeps it; every front accepts it when this answers. `client` is the name of the
   * browser or program, null when it is unknown.
   */
  createPinToken(input: ClientOrigin & { name?: string | undefined }): {
    token: string;
    info: Pick<TokenInfo, 'id' | 'name'>;
  };
  /** A PIN was wrong. `lockedForS` is 0, or for how many seconds that has emptied the bucket. */
  pinRefused(input: { address: string; lockedForS: number }): void;
  /** Makes a token; `by` is the id of the token that asked for it, `address` that of its client. */
  createToken(input: { body: CreateTokenBody; by: string; address: string }): {
    token: string;
    info: TokenInfo;
  };
  /** Makes a sign-in link; `by` is the id of the token that asked for it. */
  createLink(input: { body: CreateTokenBody; by: string }): SignInLink;
  /** The offer of a sign-in link, which stays valid. */
  checkLink(input: { link: string }): LinkOffer;
  /** Uses a sign-in link up: a second call is refused. */
  takeLink(input: { link: string }): TakenLink;
  /** Makes the token of a link for a client at this address; every front accepts it when this answers. */
  createLinkToken(input: { link: TakenLink; address: string }): { token: string; info: TokenInfo };
  /** The tokens as the token `by` sees them. */
  tokens(input: { by: string }): { tokens: TokenInfo[] };
  token(input: { id: string }): TokenInfo;
  /** No front accepts the token any more and its streams are closed when this answers. */
  revokeToken(input: { id: string; by: string }): void;
  /** When and where tokens were last used, by id. */
  tokensUsed(input: { uses: Record<string, TokenUse> }): void;
  createTicket(input: { token: string }): Ticket;
  /** Consumes the ticket: a second call gets null. Answers with the id of the token that it stands for. */
  redeemTicket(input: { ticket: string }): { token: string | null };
  /** What clients have done, for the stream. */
  activities(input: { reports: ActivityReport[] }): void;
  /** Lines of the access log. */
  logAccess(input: { text: string }): void;
  pressure(input: null): PressureReport;
  /** The hosts with bots that the caller reaches; all hosts for a caller without a limit. */
  hosts(input: { rights: Rights }): HostList;
  /** For `GET /metrics`. */
  metrics(input: null): MainMetrics;
  /** Why no requests are to be sent to this service now; null when they are. */
  readiness(input: null): { reason: string | null };
  nodes(input: null): NodeList;
  /** Answers with the node as it is then. @throws DroverError `not_found`, `conflict` in a single service. */
  actOnNode(input: { node: string; action: NodeAction }): ClusterNode;
  /** @throws DroverError `conflict` in a single service. */
  rebalance(input: null): Rebalanced;
  /** @throws DroverError `not_found`, `conflict` in a single service. */
  removeRecord(input: { bucket: string; key: string }): void;
  /** Answers when the bot, with its host group, has begun to move. @throws DroverError `not_found`, `conflict`, `unavailable`. */
  moveBot(input: { id: string; node: string; rights: Rights }): Rebalanced;
  /** For good. @throws DroverError `not_found`; `conflict` when it runs, or has bots and nothing is said of them; `unavailable`. */
  removeNode(input: { node: string; bots: BotsOfRemoved | null }): void;
  /**
   * This and the next three answer when it is done: null when the node's own stream shows the bot as it is then, else its snapshot,
   * which another node of the cluster has.
   */
  createBot(input: { bot: CreateBotBody; rights: Rights; many?: boolean }): BotSnapshot | null;
  /** Answers with what has changed too, null for nothing. */
  updateBot(input: { id: string; change: UpdateBotBody; rights: Rights }): UpdatedBot;
  /** `many`: it is one of many bots, whose starts are spread. */
  actOnBot(input: {
    id: string;
    action: BotAction;
    rights: Rights;
    many?: boolean;
  }): BotSnapshot | null;
  /**
   * Stops or deletes a bot. A front has room for these calls when others fill its bound (src/front/routes/control.ts).
   */
  endBot(input: {
    id: string;
    action: EndingAction;
    rights: Rights;
    /** The node whose leftover is meant. Absent: the bot itself, on its node. */
    node?: string;
  }): BotSnapshot | null;
  /** Called by nodes of earlier versions only, with the ids of bots that are here. */
  actOnBots(input: { actions: BotActionsBody; rights: Rights }): BulkOutcomes;
  endBots(input: {
    actions: BotActionsBody & { action: EndingAction };
    rights: Rights;
  }): BulkOutcomes;
  /**
   * Begins an operation, and answers when it has ended, or after `wait_ms`; null waits for its end. Can be cancelled: its client no longer
   * waits, and the operation continues. @throws DroverError `overloaded`, `unavailable`.
   */
  actOnMany(input: ManyActions<BotAction>): { operation: Operation } & {
    /** Null when it has not ended. */
    results: BulkOutcomes['results'] | null;
  };
  /** Actions that end bots, with the room of {@link endBot}. */
  endMany(input: ManyActions<EndingAction>): ReturnType<ControlMethods['actOnMany']>;
  /**
   * Creates bots. `lines` has the number of the line of each, `faults` what is wrong with others: nothing is created then. Otherwise like
   * {@link actOnMany}. @throws DroverError `bad_request`, `unavailable`, `not_stored`.
   */
  createMany(input: {
    bots: CreateBotBody[];
    lines: number[];
    faults: [line: number, fault: string][];
    wait_ms: number | null;
    rights: Rights;
    by: OperationActor;
  }): { operation: Operation };
  /** Newest first. */
  /**
   * Begins a rollout. @param ids those that are selected; null: all of the kind. Answers with its operation.
   * @throws DroverError `bad_request`, `conflict`, `not_found`, `forbidden`.
   */
  startRollout(input: {
    body: Omit<StartRolloutBody, 'ids' | 'labels' | 'query'>;
    ids: string[] | null;
    rights: Rights;
    by: OperationActor;
  }): Operation;
  /** Answers with the rollout, or with the operation that takes it back. @throws DroverError `not_found`, `conflict`, `forbidden`. */
  changeRollout(input: { id: string; change: RolloutChange; viewer: Viewer }): Operation;
  operations(input: { limit: number; viewer: Viewer }): OperationList;
  /** As it is when it has ended, or after `wait_ms`. Can be cancelled. @throws DroverError `not_found`. */
  operation(input: { id: string; wait_ms: number; viewer: Viewer }): Operation;
  /** `results` null: all. @throws DroverError `not_found`. */
  operationBots(input: {
    id: string;
    results: readonly BotResult[] | null;
    limit: number | null;
    cursor: string | null;
    viewer: Viewer;
  }): OperationBots;
  /** @throws DroverError `not_found`, `forbidden`, `conflict`. */
  changeOperation(input: { id: string; change: OperationChange; viewer: Viewer }): Operation;
  botConfig(input: { id: string; rights: Rights }): BotConfig;
  /**
   * Brings bots to what a fleet says, or says what that would change.
   * @throws DroverError `forbidden`, `bad_request`, `unavailable`; `conflict` when something is refused: then nothing was changed.
   */
  applyFleet(input: {
    fleet: string;
    body: FleetBody;
    rights: Rights;
    by: { name: string; token: string };
  }): FleetPlan;
  /** Bots as a fleet file has them; those that are gone, or that the caller does not reach, are left out. */
  exportBots(input: { ids: string[]; rights: Rights }): FleetExport;
  kinds(input: { rights: Rights }): KindList;
  /** Ends the quarantine of a kind; its bots start. @throws DroverError `not_found`, `conflict` when there is none, `forbidden`. */
  releaseKind(input: { kind: string; rights: Rights }): KindReleased;
  /** Reads a kind again, or all of them and new ones. @throws DroverError `not_found`, `conflict` with the reason. */
  reloadKinds(input: { kind: string | null; rights: Rights }): ReloadedKinds;
  /**
   * @param cause only those of this one; absent from older nodes, and ignored by them. @param of of these reports, instead of those of this
   *   node.
   */
  incidents(input: {
    bot: string | null;
    cause?: string;
    limit: number;
    rights: Rights;
    of?: readonly IncidentReport[];
  }): { incidents: Incident[]; missing?: string[] };
  incidentGroups(
    input: GroupQuery & { rights: Rights; of?: readonly IncidentReport[] },
  ): IncidentGroups;
  /** This and the next three: @throws DroverError `forbidden` for rights that are limited to some bots. */
  rules(input: { rights: Rights }): RuleList;
  /** Stored when it answers. @throws DroverError `bad_request`, `conflict`, `not_stored`. */
  createRule(input: { body: CreateRuleBody; rights: Rights }): Rule;
  replaceRule(input: { id: string; body: CreateRuleBody; rights: Rights }): Rule;
  /** Answers with its name. */
  removeRule(input: { id: string; rights: Rights }): { name: string };
  /** Where commands for these bots are to be sent, in their order. What is refused is on the stream by then. */
  commandTargets(input: { bots: string[]; command: string; rights: Rights }): CommandTarget[];
  /** Runs a command of the service, or of bots on other nodes. Can be cancelled: its client has gone. */
  invoke(input: { call: InvokeInput; rights: Rights }): InvokeOutput;
  /** A channel to a bot host, for commands. @throws DroverError `unavailable` when there is no such host now. */
  connectHost(input: { host: number }): { port: MessagePort };
  /** A command that this front sent to a host failed, and no host will put that on the stream. */
  commandFailed(input: { bot: string; command: string; reason: string }): void;
  /** The front is broken and has closed its sockets; main replaces it. */
  failed(input: { message: string }): void;
};

/** What has become of each bot, by id. */
export interface BulkOutcomes {
  results: Record<string, ActionOutcome>;
}

/** Who begins an operation: the token, and where its client is. */
export interface OperationActor extends ClientOrigin {
  name: string;
  token: string;
}

/** Who asks about operations: the name and the id of the token, and what it reaches. */
export interface Viewer extends Pick<Rights, 'reach'> {
  name: string;
  token: string;
}

/** Of {@link ControlMethods.actOnMany}. */
export interface ManyActions<A extends BotAction> {
  action: A;
  /** Each once. */
  ids: string[];
  options: OperationOptions;
  wait_ms: number | null;
  rights: Rights;
  by: OperationActor;
}

/** Of {@link ControlMethods.updateBot}. */
export interface UpdatedBot {
  /** As of {@link ControlMethods.createBot}. */
  elsewhere: BotSnapshot | null;
  change: BotChange | null;
}

/** What one request has done: an activity for each of its bots, or one that is about no bot. */
export interface ActivityReport extends Omit<ActivityEvent, 'session_id' | 'operation'> {
  /** Each with why it was not done to this one; null when it was. */
  bots: [id: string, error: string | null][];
  /** The request is for as many bots as there are. */
  isForMany: boolean;
  /** Id of the operation that the request has become, where main does not tell of it. */
  operation?: string | undefined;
}

/** Where a command for a bot is to be sent. */
export type CommandTarget =
  | { host: number; permit: number }
  /** Another node has the bot: {@link ControlMethods.invoke} asks it. */
  | { isElsewhere: true }
  | { error: PlainError };

export interface InvokeInput {
  session_id: string | string[] | null;
  command: string;
  args: JsonObject;
}

// ---- main ↔ journal, front ↔ journal ------------------------------------------------------------------------------

/**
 * How the previous run of the journal ended. `unexamined`: it was unclean, and before it had examined the file, as it had to
 * because the run before it was unclean too.
 */
export type PreviousShutdown = 'clean' | 'unclean' | 'unexamined';

export interface JournalStart {
  config: Config['journal'];
  /** The directory of the journal. */
  dir: string;
  /** Name of the node, null for a single service: all frames are from it. */
  node: string | null;
  stream: StreamIdentity;
  lag: SharedLag;
  /** Index of its cells on the ring. */
  reader: number;
  /** First sequence number of this run. */
  first: number;
  previousShutdown: PreviousShutdown;
  /** Why the numbering could not be written at the start; the journal does not know the stream's numbering then. */
  fault: string | null;
}

export type JournalMethods = {
  /**
   * Its status, and whether it has nothing to do: it tells main `awake` before that changes. A thread that waits for the disk
   * does not answer.
   */
  ask(input: null): { status: JournalStatus; isIdle: boolean };
  /** The channel to the broadcaster; a new one replaces the old. */
  attachBroadcaster(input: { port: MessagePort }): void;
  /** Gives a front its channel; a new one replaces the old. */
  attachFront(input: { front: number; port: MessagePort }): void;
  detachFront(input: { front: number }): void;
  /** For drills: blocks its event loop for so long, in the midst of a write if it can. */
  block(input: Block): void;
  /** Writes everything that is on the ring, records where numbering continues, and ends the thread. */
  close(input: null): void;
};

export type JournalControlMethods = LoopEvents & {
  /** Called when the journal has something to do again. */
  awake(input: null): void;
  /** The status has changed. `notice` is a message for the operator. */
  status(input: { status: JournalStatus; notice: string | null }): void;
};

/** Methods of the journal that fronts call. */
export type JournalFrontMethods = {
  replay(input: ReplayRequest): ReplayPart;
  page(input: Asked<PageRequest>): Page;
  /** The answer as clients get it. */
  stats(input: Asked<StatsRequest>): { body: Uint8Array };
  fieldHistory(input: Asked<FieldHistoryRequest>): { body: Uint8Array };
  /** The body of `GET /api/states`. */
  states(input: Asked<StatesRequest>): { body: Uint8Array };
};

// ---- main ↔ bot host ----------------------------------------------------------------------------------------------

/**
 * The part of a channel that a host needs: a MessagePort, or in a process a channel of its pipe
 * (src/bot-host/pipe-end.ts).
 */
export interface HostPort {
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  // Each channel has its own messages, which both of its ends know.
  on<Message>(event: 'message', listener: (message: Message) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
  close(): void;
}

/** Input of a bot host's piscina task. */
export interface HostStart {
  host: number;
  control: HostPort;
  events: HostPort;
  inFlight: SharedArrayBuffer;
  inFlightLimit: number;
  botLinesPerSecond: number;
  networkAllow: Config['network']['allow'];
  /** Variables of the service that bots get beside those of all bots. */
  env: Config['hosts']['env'];
  maxHeapMb: number;
  heartbeat: SharedArrayBuffer;
  /** Open streams: the host gathers lines longer while there are none. */
  streams: SharedQuota<'perToken' | 'perAddress'>;
  lag: SharedLag;
  lastRun: SharedArrayBuffer;
  commandLog: SharedArrayBuffer;
  /** How long a command may take, in ms. */
  commandTimeoutMs: number;
  /** The programs by their module names. */
  programs: Programs;
  /** Files of kinds that are not read again. */
  sources: readonly KeptSource[];
  /** Whether it notes the files that it reads, for {@link HostMethods.readFiles}. */
  notesFiles: boolean;
  /** The lease of the node in its cluster; null for a single service. */
  lease: SharedLease | null;
  /** The host notes what its kinds make, for {@link HostMethods.leftBehind}. Costs each timer and socket a stack. */
  notesResources: boolean;
}

/** A run that is to begin. `run` is a number that no other run of any bot has. */
export interface BotStart {
  id: string;
  run: number;
  kind: string;
  config: JsonObject;
  /** Whether it is not fenced when the node loses its lease, because no other node starts it. */
  stays?: boolean;
  /** The bot's term, on a node in a cluster. */
  term?: number;
  /**
   * Changes with the bot's labels, and is that of no other bot. Commands of tokens that are limited by labels carry the one under
   * which main has allowed them. Absent: it has no labels that could change.
   */
  permit?: number;
}

export type HostMethods = {
  /**
   * There is a new broadcaster: events go to this port from now on. Answers with the state of every bot here, because its last
   * events may be lost.
   */
  attachEvents(input: { port: HostPort; inFlight: SharedArrayBuffer }): { bots: HostedState[] };
  /** Loads a kind from a module URL. Answers with its description, or why it does not load. Several load side by side. */
  load(input: { module: string }): LoadedKinds;
  /** What the kinds in these modules consist of. */
  readFiles(input: { modules: string[] }): ReadFiles;
  /** Bots of the kinds in these modules, which are loaded, can be started from now on. Two of them must not have the same name. */
  use(input: { modules: string[] }): void;
  /**
   * Starts bots; answers when they run, that is before they have done anything, with those that do not, by run, and why.
   */
  start(input: { bots: BotStart[] }): { failed: Record<number, PlainError> };
  /** The bot's {@link BotStart.stays} from now on. */
  exemptFromLease(input: { id: string; stays: boolean }): void;
  /** Asks a bot to stop and answers when it has, its last lines posted; abandons it after `graceMs`. */
  stop(input: { id: string; graceMs: number }): { abandoned: boolean };
  /** The bot's {@link BotStart.permit} from the answer on. */
  setPermit(input: { id: string; permit: number }): void;
  /** Takes commands from a front, or from main; the messages are in command-messages.ts. */
  attachFront(input: { port: HostPort }): void;
  /**
   * Resources that the kinds' code has made and not ended, after `withinMs` at the latest. Empty without
   * `notesResources`.
   */
  leftBehind(input: { withinMs: number }): LeftBehind[];
  /** How many connections bots have open, by kind, as far as that is known. */
  open(input: null): Record<string, number>;
  /** For drills: does to the host what a broken bot could do. */
  drill(input: { fault: HostFault }): void;
  /** Ends the host's task. Bots are to be stopped before. */
  shutdown(input: null): void;
};

/** Faults that a drill can cause in a host. */
export const HOST_FAULTS = ['crash', 'hang', 'out_of_memory'] as const;
export type HostFault = (typeof HOST_FAULTS)[number];

export type HostControlMethods = {
  /** Code runs in the host again, and it beats. */
  awake(input: null): void;
  /** A bot ended by itself. Its last lines are posted. */
  exited(input: BotExit): void;
  /** The bot has the status in which its kind is ready, for the first time in this run. */
  ready(input: { run: number }): void;
  flooded(input: BotFlood): void;
  /**
   * The kind's `run` has returned or thrown, for each run that was started. It comes after its end when the bot ignores
   * its signal: until then it keeps running in the thread, unheard.
   */
  settled(input: { run: number }): void;
  /** The usage of bots since the last report, about once a second while they use something. */
  used(input: UsageReport): void;
  /** A run that has ended, or was abandoned, has thrown, at most 10 times for each run; or it has left something open, once. */
  lateError(input: LateError): void;
  /** Called before the commands can be called. */
  offered(input: CommandOffer): void;
  /** Called before the kind's bots have ended. */
  kindFailed(input: KindFailure): void;
};
