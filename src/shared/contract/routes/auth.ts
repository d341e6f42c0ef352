import { ApiInfo, PinBody, Ticket, TokenAnswer } from '../api.js';
import {
  CreateTokenBody,
  LinkBody,
  LinkOffer,
  NewToken,
  SignInLink,
  TokenInfo,
} from '../tokens.js';
import Type from '../typebox.js';
import { exampleOf, TOKEN } from './examples.js';
import type { Routes } from './route.js';

const LINK = 'Yq3v0cJm9a1f7Zt2wKxN5uGdB8hRsEoL4iPbQyTjXkA';
const INVITED = { name: 'Ada', scopes: ['read' as const, 'invoke' as const] };

export const AUTH_ROUTES = {
  'POST /auth/pin': {
    id: 'exchangePin',
    access: 'nothing',
    activity: 'sign_in',
    takesAnyQuery: true,
    tag: 'Authentication',
    summary: 'Exchange the PIN for a token',
    description:
      'The service prints the PIN when it starts and writes it to `pin.txt`; each start has a new one. The token has the scope `admin` and survives restarts. A wrong PIN uses one of 12 attempts, which refill at 12 a minute; the whole service shares them. A right PIN uses none.',
    body: { schema: PinBody, example: { pin: '132231' } },
    answers: {
      200: { description: 'A new token.', schema: TokenAnswer, example: { token: TOKEN } },
    },
    errors: {
      401: '`wrong pin`',
      403: 'From a page that may not use the PIN: the message says what to configure. It uses no attempt.',
      429: '`locked, retry in <N>s`: no attempts are left. `<N>` is also in `Retry-After`.',
    },
  },
  'POST /auth/link': {
    id: 'useSignInLink',
    access: 'nothing',
    activity: 'sign_in',
    tag: 'Authentication',
    summary: 'Exchange a sign-in link for a token',
    description:
      'The link works once, within 10 minutes, and only as long as the token that made it is valid. It is used up even if the response is lost.',
    body: { schema: LinkBody, example: { link: LINK } },
    answers: {
      201: {
        description: 'The token is valid immediately.',
        schema: NewToken,
        example: { token: TOKEN, ...(exampleOf(TokenInfo) as TokenInfo) },
      },
    },
    errors: {
      401: 'The link was used already, has expired, or is unknown.',
      409: 'The limit of 10,000 tokens is reached.',
    },
  },
  'POST /auth/link/check': {
    id: 'checkSignInLink',
    access: 'nothing',
    tag: 'Authentication',
    summary: 'Show what a sign-in link gives',
    description: 'Who made it, and what its token may do. The link stays valid.',
    body: { schema: LinkBody, example: { link: LINK } },
    answers: {
      200: {
        description: 'What the link gives.',
        schema: LinkOffer,
        example: {
          created_by: 'pin (Firefox on Linux)',
          link_expires_at_ms: 1795258188492,
          ...INVITED,
          bots: null,
          labels: { team: 'a' },
          expires_at_ms: null,
        },
      },
    },
    errors: { 401: 'The link was used already, has expired, or is unknown.' },
  },
  'POST /auth/ticket': {
    id: 'createTicket',
    access: 'read',
    tag: 'Authentication',
    summary: 'Create a ticket for one stream',
    description:
      'No body. The ticket replaces the token in one `GET /events?ticket=`, so that a page has no long-lived token in a URL. It can be used once, within 30 s.',
    answers: {
      200: {
        description: 'A ticket.',
        schema: Ticket,
        example: {
          ticket: 'kM7oHxXvLQzVJm0eEXxZ3pUoHk5w1n0rR2bYc8sTqAE',
          expires_at_ms: 1795257618123,
        },
      },
    },
    errors: {
      429: 'Too many unused tickets of this token.',
      503: 'Too many unused tickets of all tokens, and this one has its share.',
    },
  },
  'GET /api-info': {
    id: 'apiInfo',
    access: 'any token',
    takesAnyQuery: true,
    tag: 'Authentication',
    summary: 'Check a token',
    description: 'Accepts any valid token. Returns it and the port of the service.',
    answers: {
      200: {
        description: 'The port and the token.',
        schema: ApiInfo,
        example: { port: 8090, token: TOKEN },
      },
    },
  },
  'GET /api/tokens': {
    id: 'listTokens',
    access: 'admin',
    tag: 'Authentication',
    summary: 'List tokens',
    answers: {
      200: {
        description: 'Oldest first, without the secret values.',
        schema: Type.Object({ tokens: Type.Array(TokenInfo) }),
        example: { tokens: [exampleOf(TokenInfo)] },
      },
    },
  },
  'POST /api/tokens': {
    id: 'createToken',
    access: 'admin',
    activity: 'token.create',
    tag: 'Authentication',
    summary: 'Create a token',
    description:
      'A token can be limited to bots, by id or by labels. A token with the scope `admin` cannot be limited.',
    body: {
      schema: CreateTokenBody,
      example: { name: 'wall display', scopes: ['read'], labels: { team: 'a' } },
    },
    answers: {
      201: {
        description: 'The token is valid immediately.',
        schema: NewToken,
        example: { token: TOKEN, ...(exampleOf(TokenInfo) as TokenInfo) },
      },
    },
    errors: { 409: 'The limit of 10,000 tokens is reached.' },
  },
  'POST /api/tokens/link': {
    id: 'createSignInLink',
    access: 'admin',
    activity: 'link.create',
    tag: 'Authentication',
    summary: 'Create a sign-in link',
    description:
      'A link that gives somebody a token, once, within 10 minutes: the page `/#sign-in=<link>` of the service exchanges it (`POST /auth/link`). The body says what the token may do. Revoking the token of this request ends the link.',
    body: { schema: CreateTokenBody, example: { ...INVITED, labels: { team: 'a' } } },
    answers: {
      201: {
        description: 'The link is valid immediately.',
        schema: SignInLink,
        example: { link: LINK, expires_at_ms: 1795258188492 },
      },
    },
    errors: {
      429: 'Too many unused links of this token.',
      503: 'Too many unused links of all tokens, and this one has its share.',
    },
  },
  'GET /api/tokens/current': {
    id: 'getCurrentToken',
    access: 'any token',
    tag: 'Authentication',
    summary: 'Get the current token',
    description:
      'Who am I, and what may I do: the token of the request, who made it, and when it expires. Accepts any valid token.',
    answers: {
      200: {
        description: 'The token of the request, without its secret value.',
        schema: TokenInfo,
        example: { ...(exampleOf(TokenInfo) as TokenInfo), current: true },
      },
    },
  },
  'DELETE /api/tokens/current': {
    id: 'revokeCurrentToken',
    access: 'any token',
    activity: 'token.revoke',
    tag: 'Authentication',
    summary: 'Revoke the current token',
    description: 'Revokes the token of the request: sign out. Accepts any valid token.',
    answers: {
      204: { description: 'The token is invalid and its streams are closed.' },
    },
  },
  'DELETE /api/tokens/{id}': {
    id: 'revokeToken',
    access: 'admin',
    activity: 'token.revoke',
    tag: 'Authentication',
    summary: 'Revoke a token',
    answers: {
      204: { description: 'The token is invalid and its streams are closed.' },
    },
    errors: { 404: 'No such token.' },
  },
} satisfies Routes;
