// Tokens and sign-in links: their schemas, their scopes, and the bots that they reach.

import { BOT_ID } from './bot-id.js';
import { Labels } from './bots.js';
import { named, nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** The scopes of tokens. `admin` includes all others; none of the others includes another. */
export const SCOPES = ['read', 'control', 'invoke', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Which bots a token is limited to: those of a list, or those that have all of these labels now. Null is no limit. */
export type Reach = { bots: string[] } | { labels: Record<string, string> } | null;

/** The rights of a caller, as they are passed to main with a request. */
export interface Rights {
  scopes: Scope[];
  reach: Reach;
}

/** Longest name of a token, in characters. */
export const MAX_TOKEN_NAME = 64;

/** Who or what made a token: the PIN, another token, a sign-in link, or `drover tokens create --data-dir`. */
export const CreatedBy = Type.Object({
  how: oneOf(['pin', 'token', 'link', 'data_dir']),
  token: nullable(Type.String(), 'Id of the token that made it, or its sign-in link.'),
  name: nullable(Type.String(), 'The name that this token had.'),
  address: nullable(Type.String(), 'Where the request came from.'),
});
export type CreatedBy = Static<typeof CreatedBy>;

/** Where a request came from. */
export const ClientOrigin = Type.Object({
  address: Type.String(),
  client: nullable(
    Type.String(),
    'What its `User-Agent` claims to be, in short: `Firefox on Linux`, `curl`. Null when it says nothing.',
  ),
});
export type ClientOrigin = Static<typeof ClientOrigin>;

/** The last use of a token that is known. */
export interface TokenUse {
  /** Unix epoch milliseconds. */
  at_ms: number;
  /** Null when it is not known: an open stream is a use, too. */
  from: ClientOrigin | null;
}

/** A token as it is kept: never the token itself, only its SHA-256 digest (base64). */
export interface TokenRecord extends Rights {
  id: string;
  digest: string;
  name: string;
  /** Made with the PIN, and not by a token. */
  by_pin: boolean;
  created_at_ms: number;
  /** Null for a token from before this was kept. */
  created_by: CreatedBy | null;
  /** Unix epoch milliseconds from which on it is refused, null for never. */
  expires_at_ms: number | null;
  /** A sign-in from before sign-ins expired: it counts as used then, so that an upgrade ends none at once. */
  idle_from_ms?: number;
}

/** Whether somebody has signed in with it, with the PIN or a link: it expires when it is not used (`auth.sign_in_days`). */
export function isSignIn({
  by_pin,
  created_by,
}: Pick<TokenRecord, 'by_pin' | 'created_by'>): boolean {
  return by_pin || created_by?.how === 'link';
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
    created_by: nullable(CreatedBy, 'Who or what made it; null for tokens of earlier versions.'),
    expires_at_ms: nullable(
      Type.Integer(),
      'When it runs out, null for never. Unix epoch milliseconds.',
    ),
    extended_by_use: Type.Boolean({
      description:
        'Each use extends it to `auth.sign_in_days`, as for tokens from the PIN or a sign-in link.',
    }),
    last_used_at_ms: nullable(
      Type.Integer(),
      'Its last request or null; up to some seconds late, 15 minutes for an open stream. Unix epoch milliseconds.',
    ),
    last_used_from: nullable(ClientOrigin, 'Where it came from, or null.'),
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
        created_by: {
          how: 'token',
          token: '5d1c7b52-9a0f-4c5e-a3a5-6a4f0f5f7d11',
          name: 'pin (Firefox on Linux)',
          address: '192.0.2.7',
        },
        expires_at_ms: null,
        extended_by_use: false,
        last_used_at_ms: 1795257618123,
        last_used_from: { address: '192.0.2.40', client: 'Chrome on Linux' },
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

/** Bounds of the name of a token. */
export const TOKEN_NAME = {
  minLength: 1,
  maxLength: MAX_TOKEN_NAME,
  pattern: '^[^\\p{C}\\p{Zl}\\p{Zp}]+$',
};

/** Body of `POST /api/tokens`. */
export const CreateTokenBody = Type.Object(
  {
    name: Type.String({
      ...TOKEN_NAME,
      description: 'No control, format or private-use characters, no line separators.',
    }),
    scopes: Type.Array(Type.Unsafe<Scope>({ type: 'string', enum: SCOPES }), {
      minItems: 1,
      uniqueItems: true,
    }),
    bots: Type.Optional(
      Type.Array(Type.String({ pattern: BOT_ID.source }), {
        minItems: 1,
        maxItems: 1000,
        uniqueItems: true,
        description: 'Ids of its bots; they need not exist yet.',
      }),
    ),
    // Not empty, because that would select every bot.
    labels: Type.Optional({ ...Labels, minProperties: 1 } as typeof Labels),
    expires_at_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 8_640_000_000_000_000,
        description: 'Default: never.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type CreateTokenBody = Static<typeof CreateTokenBody>;

/** Answer of `POST /api/tokens/link`. */
export const SignInLink = Type.Object(
  {
    link: Type.String({
      description: 'The secret part of the link: the dashboard takes it as `/#sign-in=<link>`.',
    }),
    expires_at_ms: time('From when on it is refused.'),
  },
  { description: 'A link that signs somebody in, once.' },
);
export type SignInLink = Static<typeof SignInLink>;

/** Body of `POST /auth/link` and `POST /auth/link/check`. */
export const LinkBody = Type.Object(
  { link: Type.String({ minLength: 1, maxLength: 256 }) },
  { additionalProperties: false },
);
export type LinkBody = Static<typeof LinkBody>;

/** Answer of `POST /auth/link/check`. */
export const LinkOffer = Type.Object(
  {
    created_by: Type.String({ description: 'Name of the token that made the link.' }),
    link_expires_at_ms: time('From when on the link is refused.'),
    name: Type.String({ description: 'Name of the token that the link gives.' }),
    scopes: Type.Array(oneOf(SCOPES)),
    bots: nullable(Type.Array(Type.String()), 'Ids of the bots that it is limited to.'),
    labels: nullable(named(Type.String(), ''), 'The labels that its bots must have.'),
    expires_at_ms: nullable(
      Type.Integer(),
      'When the token runs out at the latest, null for never. Unix epoch milliseconds.',
    ),
  },
  { description: 'What a sign-in link gives.' },
);
export type LinkOffer = Static<typeof LinkOffer>;

/** A sign-in link that was used up, as the token is made from it. */
export interface TakenLink {
  body: CreateTokenBody;
  /** The token that made the link. */
  maker: { id: string; name: string };
}

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
