// Imported by the fronts. Owns the JSON Schemas of request bodies and what
// is answered; what concerns bots is in bots.ts.

import type { Json } from './events.js';
import Type, { type Static } from './typebox.js';

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

/** What came of a command to one of many bots. */
export type InvokeOutcome = { result: Json } | { error: string };

/** Body of the answer to `POST /invoke`: of one target, or of each of a list. */
export type InvokeOutput = { result: Json } | { results: Record<string, InvokeOutcome> };
