// Pure; used by the fronts. Owns the description of every route: one entry for each line of the table ACCESS, or this does
// not compile. The schemas are those that requests are checked with and that answers have their types from.

import {
  ApiInfo,
  InvokeBody,
  InvokeOutput,
  PinBody,
  Ticket,
  TokenAnswer,
} from '../../shared/contract/api.js';
import {
  ActionResults,
  BotActionsBody,
  BotConfig,
  CreateBotBody,
  Incident,
  LoadedKinds,
  UpdateBotBody,
} from '../../shared/contract/bots.js';
import {
  BotSnapshot,
  GapEvent,
  LogEvent,
  SessionEvent,
} from '../../shared/contract/event-schemas.js';
import { EventPage, Stats } from '../../shared/contract/journal-schemas.js';
import { PressureReport } from '../../shared/contract/pressure.js';
import {
  BOTS_QUERY,
  EVENTS_QUERY,
  INCIDENTS_QUERY,
  STATS_QUERY,
  STREAM_QUERY,
} from '../../shared/contract/queries.js';
import { CreateTokenBody, NewToken, TokenInfo } from '../../shared/contract/tokens.js';
import Type, { type TSchema } from '../../shared/contract/typebox.js';
import type { RouteName } from '../route-table.js';
import type { Operation } from './operation.js';

const exampleOf = (schema: TSchema): unknown => (schema as { examples?: unknown[] }).examples?.[0];
const BOT = exampleOf(BotSnapshot) as BotSnapshot;
const TOKEN = 'b9sonxmumDHryYOsxUTnaFTEpxbQQ+0nNbk6bPTLdZUU80CDzfHISUfjFQqhjlDg';
const NO_BOT = '`no bot "x"`: there is none, or the token does not reach it.';
const BUSY = 'Another operation of the bot is under way.';
const HOST_GONE = 'Its bot host is being restarted, or the service is short of something.';

const INCIDENTS = {
  200: {
    description: 'Newest first. The last 1,000 are kept, of one bot the last 50.',
    schema: Type.Object({ incidents: Type.Array(Incident) }),
    example: {
      incidents: [
        {
          id: '01JD8Q6ZKX',
          at_ms: 1795257600123,
          type: 'crash',
          reason: 'the world has gone',
          suspect: 'demo-1',
          host: 0,
          bots: ['demo-1', 'demo-2'],
          bot_count: 2,
          stack: [{ function: 'run', url: 'file:///kinds/demo.js', line: 41, column: 11 }],
          heap: { used: 18874368, limit: 536870912 },
          last_lines: ['Move{x="41", y="11"}'],
          last_commands: [],
          repeats: 0,
          repeated_at_ms: null,
        },
      ],
    },
  },
};

const actOnOne = (action: 'start' | 'stop' | 'restart', description: string): Operation => ({
  id: `${action}Bot`,
  tag: 'Bots',
  summary: `${action[0]?.toUpperCase()}${action.slice(1)} a bot`,
  description: `${description} No body. The same operation asked for again while it is under way has the same result, and one that changes nothing is no error. What is wanted of the bot is on disk before anything is done.`,
  answers: { 200: { description: 'It is done.', schema: BotSnapshot, example: BOT } },
  errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
});

export const OPERATIONS: Readonly<Record<RouteName, Operation>> = {
  'GET /': {
    id: 'dashboard',
    tag: 'Service',
    summary: 'The dashboard',
    answers: {
      200: {
        description: 'A page.',
        type: 'text/html; charset=utf-8',
        schema: Type.String(),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` has its ETag.' },
    },
    errors: { 404: 'The service was built without it.' },
  },
  'GET /assets/{file}': {
    id: 'dashboardFile',
    tag: 'Service',
    summary: 'A file of the dashboard',
    description: 'Its name has a hash of what it holds: it never changes.',
    answers: {
      200: {
        description: 'The file.',
        type: 'text/javascript; charset=utf-8',
        schema: Type.String(),
        more: { 'text/css; charset=utf-8': Type.String(), 'image/svg+xml': Type.String() },
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` has its ETag.' },
    },
    errors: { 404: 'There is no such file.' },
  },
  'GET /health': {
    id: 'health',
    tag: 'Service',
    summary: 'Whether the service lives',
    description: 'For monitors and load balancers.',
    answers: {
      200: {
        description: 'It does.',
        type: 'text/plain',
        schema: Type.Literal('ok'),
        example: 'ok',
      },
    },
  },
  'GET /openapi.json': {
    id: 'openapi',
    tag: 'Service',
    summary: 'This description',
    answers: {
      200: {
        description: 'OpenAPI 3.1.',
        schema: Type.Object(
          {
            openapi: Type.String({ pattern: '^3\\.1\\.' }),
            info: Type.Unsafe({ type: 'object' }),
            paths: Type.Unsafe({ type: 'object' }),
          },
          { additionalProperties: true },
        ),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` has its ETag.' },
    },
  },
  'GET /docs': {
    id: 'docs',
    tag: 'Service',
    summary: 'This description as a page',
    answers: {
      200: {
        description: 'One page without scripts; it loads nothing.',
        type: 'text/html; charset=utf-8',
        schema: Type.String(),
        headers: { ETag: 'Of this content.' },
      },
      304: { description: '`If-None-Match` has its ETag.' },
    },
  },
  'POST /auth/pin': {
    id: 'exchangePin',
    tag: 'Authentication',
    summary: 'A PIN for a token',
    description:
      'The PIN is printed at the start and stands in `pin.txt`; each start has another. The token has the scope `admin` and outlives restarts. A wrong PIN takes one of 12 attempts, of which 12 come back a minute; there is one count for the whole service. A right PIN costs nothing.',
    body: { schema: PinBody, example: { pin: '132231' } },
    answers: {
      200: { description: 'A new token.', schema: TokenAnswer, example: { token: TOKEN } },
    },
    errors: {
      401: '`wrong pin`',
      429: '`locked, retry in <N>s`: no attempts are left. `<N>` is also in `Retry-After`.',
    },
  },
  'POST /auth/ticket': {
    id: 'createTicket',
    tag: 'Authentication',
    summary: 'A ticket for one stream',
    description:
      'No body. The ticket stands for the token in one `GET /events?ticket=`, so that a page needs no long-lived token in a URL. It is good once and for 30 s.',
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
      429: 'Too many tickets of this token wait to be used.',
      503: 'Too many tickets wait to be used.',
    },
  },
  'GET /api-info': {
    id: 'apiInfo',
    tag: 'Authentication',
    summary: 'The port, and the token that was sent',
    description: 'With any token that is good. Shows whether a token has outlived a restart.',
    answers: {
      200: { description: 'Both.', schema: ApiInfo, example: { port: 8090, token: TOKEN } },
    },
  },
  'GET /events': {
    id: 'events',
    tag: 'Events',
    summary: 'The event stream',
    description: [
      'Server-Sent Events that stay open. First `retry:`, then the present snapshot of each bot as `session` events without `id:`, then a block with `id:` alone (where the stream stands), then the live stream. A comment comes after a time of silence. Handle frames without `event:` too.',
      'An id is `<epoch>-<number>`. To resume, give the last id that you had, with the same filter: the stream goes on with the event after it. What cannot be had any more is declared by a `gap` event, and the present snapshots follow it.',
      'A frame passes a filter when it has one of the values of every parameter that is given; `gap` always passes. Any other parameter is 400. The stream ends with its token.',
    ].join('\n\n'),
    query: STREAM_QUERY,
    headers: [
      {
        name: 'Last-Event-ID',
        description: 'Id of the last event that the client had; browsers send it by themselves.',
      },
    ],
    answers: {
      200: {
        description: 'The stream.',
        type: 'text/event-stream',
        schema: Type.String(),
        example:
          'id: 5019c95956-171\nevent: log\ndata: {"timestamp_ms":1795257586197,"level":"info","scope":"tcp","session_id":"demo-3","transport":"tcp","direction":"outgoing","message":"Move{x=\\"41\\", y=\\"11\\"}"}\n\n',
        events: { log: LogEvent, session: SessionEvent, gap: GapEvent },
      },
    },
    errors: {
      401: '`missing token`, `invalid token`, or `invalid ticket`: used, older than 30 s, or none.',
      429: 'Too many streams are open with this token or from this address.',
      503: 'Too many streams are open, or the service is short of something.',
    },
  },
  'GET /api/bots': {
    id: 'listBots',
    tag: 'Bots',
    summary: 'All bots',
    query: BOTS_QUERY,
    answers: {
      200: {
        description: 'In the order in which they were added.',
        schema: Type.Object({ bots: Type.Array(BotSnapshot) }),
        example: { bots: [BOT] },
      },
    },
  },
  'POST /api/bots': {
    id: 'createBot',
    tag: 'Bots',
    summary: 'Add a bot and start it',
    description:
      'Bots are kept on disk with their configuration and what is wanted of them, and come back after a restart of the service.',
    body: {
      schema: CreateBotBody,
      example: { id: 'load-1', kind: 'synthetic', config: { events_per_second: 2 } },
    },
    answers: {
      201: {
        description: 'It is in the list, on every front.',
        schema: BotSnapshot,
        example: { ...BOT, id: 'load-1', kind: 'synthetic', status: 'starting', data: {} },
      },
    },
    errors: {
      409: '`bot x exists already`, or `the id x cannot be used`.',
      503: 'The service is short of something.',
    },
  },
  'POST /api/bots/actions': {
    id: 'actOnBots',
    tag: 'Bots',
    summary: 'One action for many bots',
    description: 'By ids, by labels, or both.',
    body: { schema: BotActionsBody, example: { action: 'stop', ids: ['demo-1', 'x'] } },
    answers: {
      200: {
        description: 'Each has its own outcome.',
        schema: ActionResults,
        example: { results: { 'demo-1': { status: 'stopped' }, x: { error: 'no bot "x"' } } },
      },
    },
  },
  'GET /api/bots/{id}': {
    id: 'getBot',
    tag: 'Bots',
    summary: 'One bot',
    answers: { 200: { description: 'The bot.', schema: BotSnapshot, example: BOT } },
    errors: { 404: NO_BOT },
  },
  'PATCH /api/bots/{id}': {
    id: 'updateBot',
    tag: 'Bots',
    summary: 'Change a bot',
    description:
      'What is left out stays. `config` is merged into the present one, and null removes a key. A bot that runs is restarted when its configuration has changed.',
    body: { schema: UpdateBotBody, example: { config: { events_per_second: 5 } } },
    answers: { 200: { description: 'It is changed.', schema: BotSnapshot, example: BOT } },
    errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
  },
  'DELETE /api/bots/{id}': {
    id: 'deleteBot',
    tag: 'Bots',
    summary: 'Stop a bot and forget it',
    description:
      'Its last lines are on the stream before its end, a `session` event with `deleted`.',
    answers: { 204: { description: 'It is gone.' } },
    errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
  },
  'POST /api/bots/{id}/start': actOnOne('start', 'A bot is started when its last run is over.'),
  'POST /api/bots/{id}/stop': actOnOne('stop', 'Its policy does not start it again.'),
  'POST /api/bots/{id}/restart': actOnOne('restart', 'Stops it and starts it.'),
  'GET /api/bots/{id}/config': {
    id: 'getBotConfig',
    tag: 'Bots',
    summary: 'Its configuration',
    description:
      'What the kind marks as `writeOnly` (passwords) is left out. It can be sent back with PATCH as it was shown, and what is secret stays.',
    answers: {
      200: {
        description: 'Defaults filled in.',
        schema: BotConfig,
        example: {
          config: { events_per_second: 2, message_bytes: 80 },
          restart: {
            policy: 'on-failure',
            max_restarts: 5,
            window_ms: 60000,
            backoff_ms: 500,
            backoff_cap_ms: 30000,
            healthy_ms: 10000,
          },
          dedicated: false,
        },
      },
    },
    errors: { 404: NO_BOT },
  },
  'GET /api/bots/{id}/incidents': {
    id: 'getBotIncidents',
    tag: 'Bots',
    summary: 'What broke in it',
    query: INCIDENTS_QUERY,
    answers: INCIDENTS,
    errors: { 404: NO_BOT },
  },
  'GET /api/incidents': {
    id: 'listIncidents',
    tag: 'Bots',
    summary: 'What broke in all',
    query: INCIDENTS_QUERY,
    answers: INCIDENTS,
  },
  'GET /api/events': {
    id: 'pastEvents',
    tag: 'Events',
    summary: 'What was on the stream',
    description: [
      'From the journal: as long ago as `journal.max_bytes` and `journal.max_age_hours` let it be, across restarts. What a token is limited to holds as it does for streams. What was lost stands among the events as `gap`.',
      'A page may have fewer events than `limit`, even none, and still a cursor: a search for what is rare ends after a while, and goes on with the cursor.',
    ].join('\n\n'),
    query: EVENTS_QUERY,
    answers: {
      200: {
        description: 'A page, or a download.',
        schema: EventPage,
        example: {
          events: [{ id: '1d0b52646d-120', event: 'log', data: exampleOf(LogEvent) }],
          cursor: null,
        },
        more: { 'application/x-ndjson': Type.String() },
      },
    },
    errors: { 503: 'The journal is off, is still being checked, or cannot be opened.' },
  },
  'GET /api/stats': {
    id: 'stats',
    tag: 'Events',
    summary: 'How many events there were',
    description: 'Tokens that are limited to some bots get 403.',
    query: STATS_QUERY,
    answers: {
      200: {
        description: 'In buckets of time.',
        schema: Stats,
        example: {
          step_s: 10,
          buckets: [
            {
              at_ms: 1795271840000,
              events: 6221,
              per_second: 622.1,
              levels: { info: 6217, warn: 0, error: 0, state: 2 },
              other: 2,
              scopes: { drover: 1, auth: 1, bot: 6217 },
            },
          ],
          journal: {
            state: 'on',
            reason: null,
            oldest: '1d0b52646d-1',
            newest: '1d0b52646d-6221',
            bytes: 1859584,
            lost: 0,
            holes: 0,
          },
        },
      },
    },
    errors: { 503: 'The journal is off, is still being checked, or cannot be opened.' },
  },
  'GET /api/kinds': {
    id: 'listKinds',
    tag: 'Bots',
    summary: 'Kinds of bots',
    answers: {
      200: {
        description: 'In the order in which they were loaded.',
        schema: LoadedKinds,
        example: {
          kinds: [
            {
              kind: 'demo',
              description: 'Walks about in the demo world.',
              config: { type: 'object' },
              commands: { say: { description: 'Says something.', args: { type: 'object' } } },
            },
          ],
          failed: [],
        },
      },
    },
  },
  'GET /api/pressure': {
    id: 'pressure',
    tag: 'Service',
    summary: 'How near the service is to its bounds',
    answers: {
      200: {
        description: 'Nothing is short.',
        schema: PressureReport,
        example: exampleOf(PressureReport),
      },
      503: {
        description:
          'Something is short: new streams or bots are refused, what is there goes on. A report and no error; an error when the service cannot tell.',
        schema: PressureReport,
      },
    },
  },
  'GET /metrics': {
    id: 'metrics',
    tag: 'Service',
    summary: 'Figures for Prometheus',
    description:
      'The text format of Prometheus; docs/METRICS.md lists them. Prometheus sends a token with `authorization: {credentials_file: …}`. Tokens that are limited to some bots get 403: the figures are of all.',
    answers: {
      200: {
        description: 'All metrics.',
        type: 'text/plain; version=0.0.4; charset=utf-8',
        schema: Type.String(),
        example:
          '# HELP drover_bots Bots, by kind and status.\n# TYPE drover_bots gauge\ndrover_bots{kind="demo",status="in_world"} 3\n',
      },
    },
  },
  'GET /api/tokens': {
    id: 'listTokens',
    tag: 'Authentication',
    summary: 'All tokens',
    answers: {
      200: {
        description: 'Oldest first, without the tokens themselves.',
        schema: Type.Object({ tokens: Type.Array(TokenInfo) }),
        example: { tokens: [exampleOf(TokenInfo)] },
      },
    },
  },
  'POST /api/tokens': {
    id: 'createToken',
    tag: 'Authentication',
    summary: 'Make a token',
    description:
      'A token can be limited to bots, by their ids or by labels that they must have; one with the scope `admin` cannot.',
    body: {
      schema: CreateTokenBody,
      example: { name: 'wall display', scopes: ['read'], labels: { team: 'a' } },
    },
    answers: {
      201: {
        description: 'Every front accepts it.',
        schema: NewToken,
        example: { token: TOKEN, ...(exampleOf(TokenInfo) as TokenInfo) },
      },
    },
    errors: { 409: 'There are 10,000 tokens.' },
  },
  'DELETE /api/tokens/current': {
    id: 'revokeCurrentToken',
    tag: 'Authentication',
    summary: 'Revoke the token that is sent',
    description: 'With any token that is good: how a client signs out.',
    answers: {
      204: { description: 'No front accepts it any more, and its streams are closed.' },
    },
  },
  'DELETE /api/tokens/{id}': {
    id: 'revokeToken',
    tag: 'Authentication',
    summary: 'Revoke a token',
    answers: {
      204: { description: 'No front accepts it any more, and its streams are closed.' },
    },
    errors: { 404: 'There is no such token.' },
  },
  'POST /invoke': {
    id: 'invoke',
    tag: 'Commands',
    summary: 'A command to bots or to the service',
    description: [
      '`session_id` is a bot, up to 1,000 bots, or null for the service itself, whose commands are `ping`, `status` and (with the scope `admin`, where drills are on) `drill`.',
      'A command is cancelled when nobody waits for it any more. Every result is also a `log` event with the scope `dispatch`.',
    ].join('\n\n'),
    body: {
      schema: InvokeBody,
      example: { session_id: 'demo-1', command: 'say', args: { text: 'hello' } },
    },
    answers: {
      200: {
        description: 'One target has `result`; of a list each has its own result or error.',
        schema: InvokeOutput,
        example: { result: { said: 'hello' } },
      },
    },
    errors: {
      404: '`no bot "x"`, or `no command "x"`.',
      409: 'The bot is not running.',
      500: 'The command failed: what it threw.',
      503: HOST_GONE,
      504: '`say did not answer within 10000 ms`',
    },
  },
};
