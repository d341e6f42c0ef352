// Tokens: their schemas, their scopes, and the bots that they reach.

import { BOT_ID } from './bot-id.js';
import { Labels } from './bots.js';
import { named, nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** What a token may do. `admin` includes all others; none of the others includes another. */
export const SCOPES = ['read', 'control', 'invoke', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Which bots a token is limited to: those of a list, or those that have all of these labels now. Null is no limit. */
export type Reach = { bots: string[] } | { labels: Record<string, string> } | null;

/** What a caller may do, as it is handed to main with a request. */
export interface Rights {
  scopes: Scope[];
  reach: Reach;
}

/** A token as it is kept: never the token itself, only its SHA-256 digest (base64). */
export interface TokenRecord extends Rights {
  id: string;
  digest: string;
  name: string;
  /** Made with the PIN, and not by a token. */
  by_pin: boolean;
  created_at_ms: number;
  /** Unix epoch milliseconds from which on it is refused, null for never. */
  expires_at_ms: number | null;
}

/** A token as `GET /api/tokens` shows it. */
export const TokenInfo = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'Need not be unique.' }),
    scopes: Type.Array(oneOf(SCOPES)),
    bots: nullable(Type.Array(Type.String()), 'Ids of the bots that it is limited to.'),
    labels: nullable(named(Type.String(), ''), 'The labels that its bots must have.'),
    created_at_ms: time('When it was made.'),
    expires_at_ms: nullable(
      Type.Integer(),
      'When it runs out; for a token from a PIN with `auth.pin_idle_days`, if it is not used again. Unix epoch milliseconds.',
    ),
    last_used_at_ms: nullable(
      Type.Integer(),
      'Its last request, null before the first; may be some seconds late. While a stream is open, renewed every 15 minutes. Unix epoch milliseconds.',
    ),
    by_pin: Type.Boolean({ description: 'Created with the PIN.' }),
    current: Type.Boolean({ description: 'It is the token of this request.' }),
  },
  {
    description: 'A token, without the token itself.',
    examples: [
      {
        id: '0a3c5f8e-6a0e-4d5f-8f0c-1f6a2f0c9b7d',
        name: 'wall display',
        scopes: ['read'],
        bots: null,
        labels: { team: 'a' },
        created_at_ms: 1795257588492,
        expires_at_ms: null,
        last_used_at_ms: null,
        by_pin: false,
        current: false,
      },
    ],
  },
);
export type TokenInfo = Static<typeof TokenInfo>;

/** Answer of `POST /api/tokens`. */
export const NewToken = Type.Object(
  {
    token: Type.String({ description: 'Shown here and never again.' }),
    ...TokenInfo.properties,
  },
  { description: 'A token that was just made.' },
);
export type NewToken = Static<typeof NewToken>;

/** Body of `POST /api/tokens`. */
export const CreateTokenBody = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]+$',
      description:
        'What it is for. No control, format or private-use characters and no line separators.',
    }),
    scopes: Type.Array(Type.Unsafe<Scope>({ type: 'string', enum: SCOPES }), {
      minItems: 1,
      uniqueItems: true,
      description: 'What it may do.',
    }),
    bots: Type.Optional(
      Type.Array(Type.String({ pattern: BOT_ID.source }), {
        minItems: 1,
        maxItems: 1000,
        uniqueItems: true,
        description: 'Ids of the bots that it is limited to; they need not exist yet.',
      }),
    ),
    // Not empty: that would select every bot.
    labels: Type.Optional({ ...Labels, minProperties: 1 } as typeof Labels),
    expires_at_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 8_640_000_000_000_000,
        description: 'From when on it is refused; never when left out.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type CreateTokenBody = Static<typeof CreateTokenBody>;

/** A token that was created on the service's machine, as it waits in the data directory to be accepted. */
export const TokenFile = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
    digest: Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' }),
    ...CreateTokenBody.properties,
  },
  { additionalProperties: false },
);
export type TokenFile = Static<typeof TokenFile>;
