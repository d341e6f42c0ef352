import { ErrorBody, InvokeOutcome } from '../../shared/contract/api.js';
import {
  ActionOutcome,
  BotConfig,
  CreateBotBody,
  Incident,
  ListedKind,
  RestartPolicy,
  UpdateBotBody,
} from '../../shared/contract/bots.js';
import {
  ActivityEvent,
  BotSnapshot,
  GapEvent,
  LogEvent,
  SessionEvent,
} from '../../shared/contract/event-schemas.js';
import { FleetBody, FleetPlan, FleetStep } from '../../shared/contract/fleet.js';
import { HostInfo } from '../../shared/contract/hosts.js';
import { IncidentGroup, IncidentGroups } from '../../shared/contract/incident-groups.js';
import { JournalStatus, PastEvent } from '../../shared/contract/journal-schemas.js';
import { ClusterNode, NodeList } from '../../shared/contract/nodes.js';
import { Operation, OperationBots, OperationList } from '../../shared/contract/operations.js';
import { PressureReport } from '../../shared/contract/pressure.js';
import { AlertEvent, CreateRuleBody, Rule, RuleList } from '../../shared/contract/rules.js';
import {
  ClientOrigin,
  CreatedBy,
  CreateTokenBody,
  LinkOffer,
  NewToken,
  SignInLink,
  TokenInfo,
} from '../../shared/contract/tokens.js';
import type { TSchema } from '../../shared/contract/typebox.js';

/** The schemas under `components` of the OpenAPI document. Others refer to them by name. */
export const NAMED_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  BotSnapshot,
  LogEvent,
  SessionEvent,
  GapEvent,
  AlertEvent,
  ActivityEvent,
  CreateBot: CreateBotBody,
  UpdateBot: UpdateBotBody,
  BotConfig,
  RestartPolicy,
  Incident,
  IncidentGroup,
  IncidentGroups,
  ActionOutcome,
  InvokeOutcome,
  Operation,
  OperationBots,
  Operations: OperationList,
  Fleet: FleetBody,
  FleetPlan,
  FleetStep,
  Kind: ListedKind,
  Token: TokenInfo,
  NewToken,
  CreateToken: CreateTokenBody,
  CreatedBy,
  ClientPlace: ClientOrigin,
  SignInLink,
  SignInOffer: LinkOffer,
  Rule,
  Rules: RuleList,
  CreateRule: CreateRuleBody,
  Node: ClusterNode,
  Nodes: NodeList,
  Host: HostInfo,
  Pressure: PressureReport,
  PastEvent,
  JournalStatus,
};
