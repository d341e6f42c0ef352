// JSON Schemas of bodies. Those of bots, tokens, events and pressure are in bots.ts, tokens.ts, event-schemas.ts and
// pressure.ts.

import { anyJson, named } from './json-schema.js';
import { TOKEN_NAME } from './tokens.js';
import Type, { type Static } from './typebox.js';

const closed = { additionalProperties: false };

/** Body of every error (docs/INTERFACE.md §2.4). */
export const ErrorBody = Type.Object(
  { error: Type.String({ minLength: 1, description: 'What is wrong, in one line.' }) },
  { description: 'Every error is its status and this.', examples: [{ error: 'not found' }] },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** Body of `POST /auth/pin` (docs/INTERFACE.md §2.1). Unknown fields are allowed: the contract does not forbid them. */
export const PinBody = Type.Object({
  pin: Type.String(),
  name: Type.Optional(
    Type.String({
      ...TOKEN_NAME,
      description:
        'Who signs in: the name of the token. Default: `pin`, with the name of the client.',
    }),
  ),
});

/** Answer of `POST /auth/pin` (docs/INTERFACE.md §2.2). */
export const TokenAnswer = Type.Object({
  token: Type.String({ description: 'Base64 of 48 random bytes.' }),
});
export type TokenAnswer = Static<typeof TokenAnswer>;

/** Answer of `POST /auth/ticket`. */
export const Ticket = Type.Object({
  ticket: Type.String(),
  expires_at_ms: Type.Integer({ description: 'Unix epoch milliseconds.' }),
});
export type Ticket = Static<typeof Ticket>;

/** Answer of `GET /api-info` (docs/INTERFACE.md §2.3). */
export const ApiInfo = Type.Object({
  port: Type.Integer({ description: 'The port that the service listens on.' }),
  token: Type.String({ description: 'The token that was sent.' }),
});
export type ApiInfo = Static<typeof ApiInfo>;

/** Body of `POST /invoke`: one bot, a list of bots, or null for the service itself. */
export const InvokeBody = Type.Object(
  {
    session_id: Type.Union(
      [
        Type.String({ maxLength: 64 }),
        Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 1000 }),
        Type.Null(),
      ],
      { description: 'A bot, a list of bots, or null for the service itself.' },
    ),
    command: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the command.' }),
    args: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: "Validated against the command's schema.",
    }),
  },
  closed,
);
export type InvokeBody = Static<typeof InvokeBody>;

const Result = Type.Object({ result: anyJson('What the command returned.') });

/** The outcome of a command for one of many bots. */
export const InvokeOutcome = Type.Union([Result, Type.Object({ error: Type.String() })]);
export type InvokeOutcome = Static<typeof InvokeOutcome>;

/** Answer of `POST /invoke`. */
export const InvokeOutput = Type.Union([
  Result,
  Type.Object({ results: named(InvokeOutcome, 'By bot, when `session_id` is a list.') }),
]);
export type InvokeOutput = Static<typeof InvokeOutput>;
