// JSON Schemas of what comes over NATS: of the calls of other nodes what HTTP accepts, of records and answers what those who read them
// rely on. Unknown fields pass: a later version may add some (docs/CLUSTER.md, "Protocol versions"). Loads TypeBox: only the code that is
// generated from these is used.

import { ERRORS } from '../errors.js';
import { InvokeBody } from './api.js';
import { BOT_ID } from './bot-id.js';
import { BOT_ACTIONS, CreateBotBody, FAILOVERS, Incident, Labels, UpdateBotBody } from './bots.js';
import { FieldHistory, PastStates, StatsAnswer } from './journal-schemas.js';
import { nullable, oneOf } from './json-schema.js';
import { NODE_NAME } from './node-name.js';
import { BOTS_OF_REMOVED } from './nodes.js';
import { BOT_RESULTS, OPERATION_CHANGES } from './operation-bounds.js';
import { CreateTokenBody, SCOPES, TokenFile } from './tokens.js';
import Type, { type TSchema } from './typebox.js';

/** The schema, with fields that this version does not know allowed. */
function open<S extends TSchema>(schema: S): S {
  const opened = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(opened);
    if (value === null || typeof value !== 'object') return value;
    const { additionalProperties, ...rest } = value as Record<string, unknown>;
    // Objects with free names, such as labels, keep the check of their names.
    const isClosed = additionalProperties === false && rest['patternProperties'] === undefined;
    const kept =
      isClosed || additionalProperties === undefined ? rest : { additionalProperties, ...rest };
    return Object.fromEntries(Object.entries(kept).map(([name, part]) => [name, opened(part)]));
  };
  return opened(schema) as S;
}

/** Other methods than these are no methods. */
const closed = { additionalProperties: false };
const natural = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const number = Type.Number();
const text = Type.String({ maxLength: 4096 });
const anyText = Type.String();
const name = Type.String({ maxLength: 128 });
const id = Type.String({ pattern: BOT_ID.source });
const node = Type.String({ pattern: NODE_NAME.source });
const version = Type.Integer({ minimum: 1 });
const anything = Type.Unknown();
const orNull = <S extends TSchema>(schema: S) => nullable(schema, '');
const list = (items: TSchema) => Type.Array(items);
const object = (fields: Record<string, TSchema>) => Type.Object(fields);
const map = (values: TSchema) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: values });
const some = Type.Optional;

const reach = Type.Union([
  object({ bots: list(anyText) }),
  object({ labels: map(anyText) }),
  Type.Null(),
]);
export const BusRights = object({ scopes: list(oneOf(SCOPES)), reach });
/** Schemas that several others use are compiled once. */
const shared = (name: string) => Type.Unsafe<unknown>({ $ref: name });
const rights = shared('BusRights');
const labels = shared('BusLabels');
const bot = shared('BusBot');
const sharedToken = shared('BusToken');
const snapshot = shared('BusSnapshot');
const plainError = shared('BusError');

export const BusLabels = Labels;
export const BusBot = open(CreateBotBody);
export const BusError = object({
  code: oneOf(Object.keys(ERRORS)),
  message: anyText,
  retryAfterS: some(Type.Integer({ minimum: 0, maximum: 3600 })),
});
/** The fields of a snapshot that its readers rely on. */
export const BusSnapshot = object({
  id,
  kind: anyText,
  status: Type.String({ minLength: 1 }),
  desired: oneOf(['running', 'stopped']),
  labels: map(anyText),
  data: some(object({})),
  node: some(node),
  term: some(natural),
});

const sealed = some(orNull(anyText));
const action = oneOf(BOT_ACTIONS);
const ending = oneOf(['stop', 'delete']);
const use = object({
  at_ms: natural,
  from: orNull(object({ address: text, client: orNull(text) })),
});
const wanted = oneOf(['live', 'cordoned', 'draining']);

/** A token as it is stored; by earlier releases with less. */
const { id: tokenId, digest } = TokenFile.properties;
const token = object({
  id: tokenId,
  digest,
  // A sign-in has the name of a browser.
  name: Type.String({ maxLength: 256 }),
  scopes: CreateTokenBody.properties.scopes,
  reach,
  by_pin: Type.Boolean(),
  created_at_ms: natural,
  created_by: some(
    orNull(
      object({
        how: anyText,
        token: orNull(anyText),
        name: orNull(anyText),
        address: orNull(anyText),
      }),
    ),
  ),
  expires_at_ms: orNull(natural),
  idle_from_ms: some(natural),
});
export const BusToken = object({
  v: version,
  node,
  node_id: some(name),
  record: token,
  use: some(orNull(use)),
});

/** A later version may have further types. */
const { properties: incidentFields, ...incidentRest } = open(Incident);
const incident = Type.Unsafe<unknown>({
  ...incidentRest,
  properties: { ...incidentFields, type: anyText },
});

/** Values of the buckets, by what they are. */
export const BusRecords = Type.Partial(
  object({
    bot: object({
      v: version,
      spec: bot,
      node,
      term: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      state: oneOf(['placing', 'placed', 'leaving', 'free']),
      to: some(orNull(node)),
      reason: some(orNull(anyText)),
      failover: oneOf([...FAILOVERS, 'bound']),
      sealed: orNull(anyText),
    }),
    token: sharedToken,
    node: object({
      v: version,
      id: name,
      incarnation: name,
      labels: some(labels),
      version: some(name),
      address: some(orNull(text)),
      started_at_ms: some(natural),
      renewed_at_ms: some(natural),
      kinds: some(list(name)),
      capacity: some(Type.Partial(object({ cores: number, memory_mb: number }))),
      figures: some(map(number)),
      leftovers: some(list(object({ bot: name, reason: anyText }))),
      events_stalled: some(anyText),
    }),
    leader: object({ v: version, node, incarnation: name }),
    removed: object({ v: version, id: orNull(name) }),
    incident: object({
      v: version,
      node,
      incident,
      identities: list(object({ id: anyText, incarnation: anyText, labels: map(anyText) })),
    }),
    key: object({ v: version, check: name }),
  }),
);

const place = object({
  id,
  kind: anyText,
  node: some(node),
  node_labels: some(labels),
  host_group: CreateBotBody.properties.host_group,
  needs_key: some(Type.Boolean()),
  except: some(list(node)),
});
const actions = (which: TSchema) =>
  object({ action: which, ids: some(list(anyText)), labels: some(labels) });

const viewer = object({ name: anyText, token: name, reach });

/** The input of each call of another node, by method. */
export const BusCalls = Type.Partial(
  object({
    place,
    rebalance: Type.Null(),
    move: object({ id, node }),
    removeNode: object({ node, bots: orNull(oneOf(BOTS_OF_REMOVED)) }),
    want: object({ wanted }),
    revokeToken: object({ id: tokenId }),
    learnToken: object({ id: tokenId, token: sharedToken }),
    tokensUsed: object({ uses: map(use) }),
    redeemTicket: object({ ticket: text }),
    checkLink: object({ link: text }),
    takeLink: object({ link: text }),
    createBot: object({ bot, rights, sealed, many: some(Type.Boolean()) }),
    updateBot: object({ id, change: open(UpdateBotBody), rights, sealed }),
    actOnBot: object({ id, action, rights, many: some(Type.Boolean()) }),
    endBot: object({ id, action: ending, rights }),
    actOnBots: object({ actions: actions(action), rights }),
    endBots: object({ actions: actions(ending), rights }),
    operations: object({ limit: natural, viewer }),
    operation: object({ id: name, wait_ms: natural, viewer }),
    operationBots: object({
      id: name,
      results: orNull(list(oneOf(BOT_RESULTS))),
      limit: orNull(natural),
      cursor: orNull(name),
      viewer,
    }),
    changeOperation: object({ id: name, change: oneOf(OPERATION_CHANGES), viewer }),
    botConfig: object({ id, rights }),
    invoke: object({ call: open(InvokeBody), rights }),
    incidents: object({ bot: orNull(anyText), cause: some(anyText), limit: natural, rights }),
    incidentGroups: object({
      cause: orNull(anyText),
      after: number,
      before: number,
      limit: natural,
      rights,
    }),
    hosts: object({ rights }),
    // A node of an earlier version sends null.
    kinds: orNull(object({ rights })),
    showBots: Type.Null(),
    releaseKind: object({ kind: text, rights }),
    reloadKinds: object({ kind: orNull(text), rights }),
  }),
  closed,
);

const results = object({ results: map(object({})) });
const operation = object({ id: name, began_ms: number, state: name, bots: natural });

/** The answer of each call, by method; of some nothing is used. Not every field that clients get: what this node works with. */
export const BusAnswers = Type.Partial(
  object({
    place: object({ node }),
    rebalance: object({ moves: natural }),
    move: object({ moving: natural }),
    removeNode: anything,
    want: object({ node, state: name }),
    redeemTicket: object({ token: orNull(name) }),
    checkLink: object({ name: anyText, scopes: list(oneOf(SCOPES)) }),
    takeLink: object({
      body: open(CreateTokenBody),
      maker: object({ id: name, name: anyText }),
    }),
    createBot: orNull(snapshot),
    updateBot: object({ elsewhere: orNull(snapshot), change: orNull(object({})) }),
    actOnBot: orNull(snapshot),
    endBot: orNull(snapshot),
    actOnBots: results,
    endBots: results,
    operations: object({ operations: list(operation) }),
    operation,
    operationBots: object({
      bots: list(object({ id: anyText, result: name })),
      next: orNull(name),
    }),
    changeOperation: operation,
    botConfig: object({ config: object({}) }),
    invoke: object({}),
    incidents: object({
      incidents: list(object({ id: anyText, at_ms: number, type: anyText, reason: anyText })),
    }),
    incidentGroups: object({
      groups: list(
        object({
          cause: anyText,
          count: number,
          bots: list(anyText),
          bot_count: number,
          fallen: number,
          first_at_ms: number,
          last_at_ms: number,
          counts: list(number),
        }),
      ),
      forgotten: number,
    }),
    hosts: object({ hosts: list(object({ host: natural, node: orNull(node) })) }),
    kinds: object({
      kinds: list(object({ kind: anyText, config: object({}), commands: map(object({})) })),
      failed: list(object({ module: anyText, error: anyText })),
    }),
    releaseKind: object({ started: natural }),
    reloadKinds: object({ kinds: list(object({ kind: anyText, version: anyText })) }),
    showBots: anything,
    revokeToken: anything,
    learnToken: anything,
    tokensUsed: anything,
  }),
  closed,
);

/**
 * Answers about the past, by kind of question; of pages and of frames their heads. What events are in them is not read: there are too
 * many.
 */
export const BusHistory = Type.Partial(
  object({
    page: object({ at: orNull(natural), forgottenBelow: natural }),
    stats: StatsAnswer,
    counts: StatsAnswer,
    states: PastStates,
    'field-history': object({
      ...FieldHistory.properties,
      step_ms: Type.Integer({ minimum: 1 }),
    }),
    frames: object({
      blocks: list(object({ first: natural, bytes: natural })),
      upTo: orNull(natural),
    }),
  }),
  closed,
);

const total = { seq: natural, total: natural };
/** The envelopes of calls, questions and events. */
export const BusMessages = Type.Partial(
  object({
    call: object({
      v: version,
      id: Type.String({ minLength: 1, maxLength: 64 }),
      method: some(name),
      input: some(anything),
      deadline_ms: some(Type.Number({ minimum: 0 })),
      cancel: some(Type.Literal(true)),
      part: some(natural),
    }),
    answer: object({
      v: version,
      result: some(anything),
      error: some(plainError),
      parts: some(Type.Integer({ minimum: 1, maximum: 65_536 })),
    }),
    /** The head of a block. */
    block: object({
      v: version,
      node,
      incarnation: name,
      type: oneOf(['frames', 'fence']),
      of: some(name),
      end: some(Type.Boolean()),
      epoch: name,
      first: natural,
      next: natural,
      count: Type.Integer({ minimum: 0, maximum: 4096 }),
      size: Type.Integer({ minimum: 0, maximum: 8 * 2 ** 20 }),
      at: object(total),
    }),
    session: object({ snapshot }),
    who: object({ node }),
    baseline: object({ epoch: name, ...total, last: some(map(natural)), sessions: list(anyText) }),
    part: object({ v: version, part: natural }),
    history: Type.Union([
      object({
        kind: oneOf(['page']),
        request: object({
          filter: orNull(anyText),
          order: oneOf(['newest', 'oldest']),
          afterMs: orNull(number),
          beforeMs: orNull(number),
          limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
          maxBytes: Type.Integer({ minimum: 1, maximum: 64 * 2 ** 20 }),
        }),
        token: anyText,
        epoch: name,
        after: orNull(natural),
        before: orNull(natural),
        seq: natural,
        at: orNull(natural),
      }),
      object({
        kind: oneOf(['stats', 'counts']),
        request: object({
          after: orNull(number),
          before: orNull(number),
          stepS: orNull(natural),
          search: some(object({ filter: orNull(anyText) })),
        }),
        token: anyText,
      }),
      object({
        kind: oneOf(['states']),
        request: object({ at: number, reach }),
        token: anyText,
      }),
      object({
        kind: oneOf(['field-history']),
        request: object({
          filter: anyText,
          fields: list(anyText),
          afterMs: number,
          beforeMs: number,
          points: Type.Integer({ minimum: 1, maximum: 100_000 }),
        }),
        token: anyText,
      }),
      object({
        kind: oneOf(['frames']),
        epoch: name,
        from: natural,
        maxBytes: Type.Integer({ minimum: 1, maximum: 64 * 2 ** 20 }),
      }),
    ]),
  }),
);
