// Imported by the fronts. Owns the JSON Schemas of the interface: request bodies, snapshots and events.

import Type, { type Static } from 'typebox';
import { LEVELS } from './events.js';

const closed = { additionalProperties: false };

/** Body of `POST /auth/pin` (interface-seed §2.1). Unknown fields are let through: the seed does not forbid them. */
export const PinBody = Type.Object({ pin: Type.String() });

/** Body of `POST /invoke`: one bot, a list of bots, or null for the service itself. */
export const InvokeBody = Type.Object(
  {
    session_id: Type.Union([
      Type.String({ maxLength: 64 }),
      Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 1000 }),
      Type.Null(),
    ]),
    command: Type.String({ minLength: 1, maxLength: 128 }),
    args: Type.Record(Type.String(), Type.Unknown(), { default: {} }),
  },
  closed,
);
export type InvokeBody = Static<typeof InvokeBody>;

/** Data of a `log` frame (interface-seed §2.5). */
export const LogEventSchema = Type.Object({
  timestamp_ms: Type.Integer({ description: 'Unix epoch milliseconds when the event fired.' }),
  level: Type.Union(LEVELS.map((level) => Type.Literal(level))),
  scope: Type.String({ description: 'Source module; the list is open-ended.' }),
  session_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Bot id when the event belongs to a bot, else null.',
  }),
  transport: Type.Union([Type.Literal('tcp'), Type.Literal('http'), Type.Null()]),
  direction: Type.Union([Type.Literal('outgoing'), Type.Literal('incoming'), Type.Null()]),
  message: Type.String({ description: 'Pre-formatted display line.' }),
});

/** State of one bot: body of `GET /api/bots/{id}` and `snapshot` of a `session` frame (interface-seed §2.6). */
export const BotSnapshotSchema = Type.Object({
  id: Type.String({ description: 'Bot id.' }),
  kind: Type.String({ description: 'Which kind of bot it is.' }),
  status: Type.String({
    description:
      'The service names stopped, starting, stopping, backoff, failed and deleted; a running bot names its own, for example in_world.',
  }),
  desired: Type.Union([Type.Literal('running'), Type.Literal('stopped')]),
  since_ms: Type.Integer({ description: 'Unix epoch milliseconds since when it has this status.' }),
  started_at_ms: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Unix epoch milliseconds of the start of the present run, null while it does not run.',
  }),
  restarts: Type.Integer({ description: 'How often the service has restarted it.' }),
  host: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Number of the bot host that runs it, null while it does not run.',
  }),
  last_error: Type.Union([Type.String(), Type.Null()]),
  labels: Type.Record(Type.String(), Type.String()),
  data: Type.Record(Type.String(), Type.Unknown(), { description: "The bot's own state." }),
});

/** Data of a `session` frame (interface-seed §2.6). */
export const SessionEventSchema = Type.Object({ snapshot: BotSnapshotSchema });
