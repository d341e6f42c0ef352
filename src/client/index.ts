// The public API of `drover/client`, for Node and browsers: no Node modules, no dependencies.

export type { InvokeOutcome } from '../shared/contract/api.js';
export type {
  ActionOutcome,
  BotAction,
  Incident,
  KindHold,
  KindInfo,
  KindList,
  ListedKind,
  ListedVersion,
  ReloadedKind,
  ReloadedKinds,
  RestartPolicy,
  StackFrame,
  UpdateBotBody,
} from '../shared/contract/bots.js';
export type { Level } from '../shared/contract/event-kinds.js';
export type {
  ActivityEvent,
  AlertEvent,
  BotSnapshot,
  BotUsage,
  GapEvent,
  LogEvent,
  SessionEvent,
} from '../shared/contract/events.js';
export type { FleetBody, FleetExport, FleetPlan, FleetStep } from '../shared/contract/fleet.js';
export type { HostInfo, HostList } from '../shared/contract/hosts.js';
export type { IncidentGroup, IncidentGroups } from '../shared/contract/incident-groups.js';
export type { JournalStatus } from '../shared/contract/journal-messages.js';
export type { Json, JsonObject } from '../shared/contract/json.js';
export type { ClusterNode, NodeAction, NodeList } from '../shared/contract/nodes.js';
export type { PressureReport, Resource } from '../shared/contract/pressure.js';
export type { Condition, RuleState, Severity } from '../shared/contract/rule-bounds.js';
export type { CreateRuleBody, Rule } from '../shared/contract/rules.js';
export type { RunFile, RunList } from '../shared/contract/runs.js';
export type {
  ClientOrigin as ClientPlace,
  CreatedBy,
  CreateTokenBody,
  LinkOffer,
  Scope,
  SignInLink,
  TokenInfo,
} from '../shared/contract/tokens.js';
export { ApiError } from './api-error.js';
export type { BackoffOptions } from './backoff.js';
export type { BegunActions, BotActions, BotConfig, NewBot } from './bot-calls.js';
export { DroverClient, type DroverClientOptions, type LiveOptions } from './client.js';
export type { BotFilter, EventFilter } from './event-filter.js';
export { EventStream, type StreamOptions, type StreamState } from './event-stream.js';
export type {
  ActivityQuery,
  BotHistory,
  BotHistoryPoint,
  BotHistoryQuery,
  BotState,
  DownloadQuery,
  EventsPage,
  EventsQuery,
  IncidentGroupsQuery,
  PastStates,
  Stats,
  StatsBucket,
  StatsQuery,
} from './history.js';
export type { CallOptions, Fetch, FetchInit } from './http.js';
export type {
  Operation,
  OperationBot,
  OperationBots,
  OperationList,
  StartRollout,
} from './operation-calls.js';
export type { StreamEvent } from './stream-events.js';
export { type NewToken, signInUrl } from './token-calls.js';
