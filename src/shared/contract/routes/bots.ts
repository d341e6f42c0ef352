import { InvokeBody, InvokeOutput } from '../api.js';
import {
  ActionResults,
  BotActionsBody,
  BotConfig,
  CreateBotBody,
  Incident,
  KindList,
  KindReleased,
  ListedKind,
  MoveBotBody,
  ReloadedKinds,
  UpdateBotBody,
} from '../bots.js';
import { BotSnapshot } from '../event-schemas.js';
import { IncidentGroups, MAX_GROUPS } from '../incident-groups.js';
import { nullable } from '../json-schema.js';
import { Rebalanced } from '../nodes.js';
import { LIMIT } from '../query-bounds.js';
import Type from '../typebox.js';
import { BOT, exampleOf } from './examples.js';
import {
  botFilters,
  cause,
  choice,
  integer,
  limit,
  list,
  moment,
  query,
  text,
} from './parameters.js';
import type { Routes } from './route.js';

const NO_BOT = '`no bot "x"`: it does not exist, or the token is not allowed to see it.';
const BUSY = 'Another operation on the bot is in progress.';
const HOST_GONE = 'Its bot host is restarting, or the service is under pressure.';

const NO_KIND = '`no bot kind "x"`';
const RELOAD =
  'The files are loaded by a separate bot host. What they hold is the version with which bots start from then on; bots that run are not touched. When a file does not load, or the configuration of a bot would not be valid any more, nothing changes. The token must not be limited to some bots. In a cluster every node reads its own files.';
const RELOAD_ERRORS = {
  403: 'The token is limited to some bots.',
  409: '`the bot kind demo is not reloaded: …` with the reason.',
};
const KIND = {
  kind: 'demo',
  description: 'Walks about in the demo world.',
  config: { type: 'object' },
  commands: { say: { description: 'Says something.', args: { type: 'object' } } },
  quarantine: null,
  changed: false,
  versions: [{ version: '4f1c02ab', package: 'drover@0.1.0', is_current: true, bots: 12 }],
};
const RELOADED = {
  kinds: [
    {
      kind: 'trader',
      version: 'b07d51e3',
      before: '91ac20f4',
      files: { added: [], removed: [], changed: ['trader.mjs'] },
      config: { added: ['limit'], removed: [], changed: [] },
      commands: { added: [], removed: [], changed: [] },
      bots: 250,
      released: 0,
    },
  ],
  failed: [],
};

const INCIDENTS_QUERY = { cause: cause('Only incidents of this cause.'), limit };

const INCIDENTS = {
  200: {
    description: 'Newest first. The service keeps the last 1,000, and 50 of one bot.',
    schema: Type.Object({
      incidents: Type.Array(Incident),
      missing: Type.Optional(
        Type.Array(Type.String(), {
          description: 'In a cluster: nodes whose incidents are not known.',
        }),
      ),
    }),
    example: {
      incidents: [
        {
          id: '01JD8Q6ZKX',
          at_ms: 1795257600123,
          type: 'crash',
          reason: 'the world has gone',
          cause: '5d0c7c1b9a3f2e64',
          suspect: 'demo-1',
          host: 0,
          bots: ['demo-1', 'demo-2'],
          bot_count: 2,
          stack: [{ function: 'run', url: 'file:///kinds/demo.js', line: 41, column: 11 }],
          heap: { used: 18874368, limit: 536870912 },
          last_lines: ['info demo-1 tcp: Move{x="41", y="11"}'],
          last_lines_at_ms: [1795257600098],
          last_commands: [],
          repeats: 0,
          repeated_at_ms: null,
        },
      ],
    },
  },
};

const actOnOne = <A extends 'start' | 'stop' | 'restart'>(action: A, description: string) => ({
  id: `${action}Bot`,
  access: 'control' as const,
  activity: `bot.${action}` as const,
  tag: 'Bots' as const,
  summary: `${action[0]?.toUpperCase()}${action.slice(1)} a bot`,
  description: `${description} No body. The call returns when the operation is done. Repeating it while it is in progress returns the same result; an operation that changes nothing succeeds. The desired state is on disk before the operation begins.`,
  answers: { 200: { description: 'Done.', schema: BotSnapshot, example: BOT } },
  errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
});

export const BOT_ROUTES = {
  'GET /api/bots': {
    id: 'listBots',
    access: 'read',
    query: {
      query: query('Only bots', 'status:failed label:team=a -kind:demo'),
      ...botFilters('Only bots'),
      node: list('Only bots of this node of the cluster; `self`: what the answering node runs.', [
        'h1',
      ]),
      sort: text(
        'Order by a field of docs/QUERY.md: `bot`, `kind`, `status`, `desired`, `node`, `host`, `restarts`, `last_error`, `since` (age of the status), `data.<name>` or `label.<name>`; `-` before it reverses. Numbers come before texts, bots without the field last, equal ones by id.',
        '-data.gold',
      ),
      limit: integer('Maximum number of bots, in the order of ids or `sort`. Default: all.', {
        minimum: LIMIT.minimum,
        maximum: LIMIT.maximum,
      }),
      cursor: text(
        '`next` of the previous page, with the same parameters. Needs `limit`.',
        'demo-3',
      ),
    },
    tag: 'Bots',
    summary: 'List bots',
    description:
      'All bots, or with `limit` a page of them, in the order of their ids or of `sort`. Bots that come or go between two pages are listed or not; all others are listed once, unless their value of `sort` changes meanwhile.',
    answers: {
      200: {
        description: 'Without `limit` and `sort`: in the order in which they were created.',
        schema: Type.Object({
          bots: Type.Array(BotSnapshot),
          next: Type.Optional(
            nullable(
              Type.String(),
              'With `limit`: `cursor` of the next page; null after the last one.',
            ),
          ),
        }),
        example: { bots: [BOT] },
      },
    },
  },
  'POST /api/bots': {
    id: 'createBot',
    access: 'control',
    activity: 'bot.create',
    tag: 'Bots',
    summary: 'Create a bot and start it',
    description:
      'Bots are stored with their configuration and desired state, and return after a restart of the service.',
    body: {
      schema: CreateBotBody,
      example: { id: 'load-1', kind: 'synthetic', config: { events_per_second: 2 } },
    },
    answers: {
      201: {
        description: 'The bot is in the list.',
        schema: BotSnapshot,
        example: { ...BOT, id: 'load-1', kind: 'synthetic', status: 'starting', data: {} },
      },
    },
    errors: {
      409: '`bot x exists already`, or `the id x cannot be used`.',
      503: 'The service is under pressure.',
    },
  },
  'POST /api/bots/actions': {
    id: 'actOnBots',
    access: 'control',
    activity: 'bot.actions',
    tag: 'Bots',
    summary: 'Start, stop, restart or delete many bots',
    description: 'By ids, by labels, or both.',
    body: { schema: BotActionsBody, example: { action: 'stop', ids: ['demo-1', 'x'] } },
    answers: {
      200: {
        description: 'The outcome for each bot.',
        schema: ActionResults,
        example: { results: { 'demo-1': { status: 'stopped' }, x: { error: 'no bot "x"' } } },
      },
    },
  },
  'GET /api/bots/{id}': {
    id: 'getBot',
    access: 'read',
    query: {
      node: choice(
        ['self'],
        '`self`: as the own stream of the node that answers has it, not that of the cluster.',
      ),
    },
    tag: 'Bots',
    summary: 'Get a bot',
    answers: { 200: { description: 'The bot.', schema: BotSnapshot, example: BOT } },
    errors: { 404: NO_BOT },
  },
  'PATCH /api/bots/{id}': {
    id: 'updateBot',
    access: 'control',
    activity: 'bot.update',
    tag: 'Bots',
    summary: 'Update a bot',
    description:
      'Fields that are left out stay. `config` is merged into the current one, and null removes a key. A running bot restarts when its configuration changes.',
    body: { schema: UpdateBotBody, example: { config: { events_per_second: 5 } } },
    answers: { 200: { description: 'Updated.', schema: BotSnapshot, example: BOT } },
    errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
  },
  'DELETE /api/bots/{id}': {
    id: 'deleteBot',
    access: 'control',
    activity: 'bot.delete',
    query: {
      node: text(
        'Only what this node of the cluster has on its disk, `self` for the node that answers: removes a bot that was left there when the cluster had another with the id.',
        'h2',
      ),
    },
    tag: 'Bots',
    summary: 'Stop and delete a bot',
    description:
      'The stream has its last lines, and then a `session` event with the status `deleted`.',
    answers: { 204: { description: 'Deleted.' } },
    errors: { 404: NO_BOT, 409: BUSY, 503: HOST_GONE },
  },
  'POST /api/bots/{id}/start': actOnOne(
    'start',
    'Starts the bot as soon as its previous run has ended.',
  ),
  'POST /api/bots/{id}/stop': actOnOne(
    'stop',
    'Stops the bot. Its restart policy does not start it again.',
  ),
  'POST /api/bots/{id}/restart': actOnOne('restart', 'Stops and starts the bot.'),
  'POST /api/bots/{id}/move': {
    id: 'moveBot',
    access: 'control',
    activity: 'bot.move',
    tag: 'Bots',
    summary: 'Move a bot to another node',
    description:
      'To the named node of the cluster. The bots of its host group go with it. The call returns when they have begun to move.',
    body: { schema: MoveBotBody, example: { node: 'h2' } },
    answers: {
      200: {
        description: 'How many move; 0 for a bot that is there already.',
        schema: Rebalanced,
        example: { moving: 1 },
      },
    },
    errors: {
      404: `${NO_BOT} Or \`no node "x"\`.`,
      409: 'This service is not in a cluster, or the bot cannot run on that node: the reason.',
      503: 'The cluster does not answer, or the bot is moving already.',
    },
  },
  'GET /api/bots/{id}/config': {
    id: 'getBotConfig',
    access: 'read',
    tag: 'Bots',
    summary: 'Get the configuration of a bot',
    description:
      'Fields that the kind marks as `writeOnly` (passwords) are left out. The response can be sent back with PATCH: secrets stay.',
    answers: {
      200: {
        description: 'With defaults.',
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
          quota: {},
          isolation: 'thread',
          host_group: null,
        },
      },
    },
    errors: { 404: NO_BOT },
  },
  'GET /api/bots/{id}/incidents': {
    id: 'getBotIncidents',
    access: 'read',
    query: INCIDENTS_QUERY,
    tag: 'Bots',
    summary: 'List the incidents of a bot',
    answers: INCIDENTS,
    errors: { 404: NO_BOT },
  },
  'GET /api/incidents': {
    id: 'listIncidents',
    access: 'read',
    query: INCIDENTS_QUERY,
    tag: 'Bots',
    summary: 'List incidents',
    answers: INCIDENTS,
  },
  'GET /api/incidents/groups': {
    id: 'listIncidentGroups',
    access: 'read',
    query: {
      cause: cause('Only this group, with all of its bots.'),
      after: moment(
        'A time as in `GET /api/events`: groups with incidents since then. Default: a day before `before`.',
      ),
      before: moment('A time, exclusive. Default: now.'),
      limit,
    },
    tag: 'Bots',
    summary: 'List incidents by cause',
    description:
      'Incidents with the same type, message and stack are one group: numbers, ids, addresses, times, quoted parts, directories and line numbers do not count. Groups outlive the reports of their incidents. A token that is limited to some bots gets the groups of the reports that it may see.',
    answers: {
      200: {
        description: `The latest first, at most ${MAX_GROUPS} of a node.`,
        schema: IncidentGroups,
        example: exampleOf(IncidentGroups),
      },
    },
  },
  'GET /api/kinds': {
    id: 'listKinds',
    access: 'read',
    tag: 'Bots',
    summary: 'List kinds of bots',
    answers: {
      200: {
        description: 'In the order in which they were loaded.',
        schema: KindList,
        example: {
          kinds: [KIND],
          failed: [],
        },
      },
    },
  },
  'GET /api/kinds/{kind}': {
    id: 'getKind',
    access: 'read',
    tag: 'Bots',
    summary: 'Get a kind of bots',
    answers: {
      200: { description: 'With the versions that bots run.', schema: ListedKind, example: KIND },
    },
    errors: { 404: NO_KIND },
  },
  'POST /api/kinds/reload': {
    id: 'reloadKinds',
    access: 'control',
    activity: 'kinds.reload',
    tag: 'Bots',
    summary: 'Read all kinds again',
    description: `Finds new kinds too. ${RELOAD}`,
    answers: { 200: { description: 'Reloaded.', schema: ReloadedKinds, example: RELOADED } },
    errors: RELOAD_ERRORS,
  },
  'POST /api/kinds/{kind}/reload': {
    id: 'reloadKind',
    access: 'control',
    activity: 'kind.reload',
    tag: 'Bots',
    summary: 'Read a kind of bots again',
    description: `A kind that is not known yet is looked for among the files that are new. ${RELOAD}`,
    answers: { 200: { description: 'Reloaded.', schema: ReloadedKinds, example: RELOADED } },
    errors: { ...RELOAD_ERRORS, 404: NO_KIND },
  },
  'POST /api/kinds/{kind}/release': {
    id: 'releaseKind',
    access: 'control',
    activity: 'kind.release',
    tag: 'Bots',
    summary: 'End the quarantine of a kind of bots',
    description:
      'New bot hosts load the kind again, and the bots that failed because of the quarantine start. The token must not be limited to some bots.',
    answers: {
      200: {
        description: 'Released.',
        schema: KindReleased,
        example: { started: 12, missing: [] },
      },
    },
    errors: {
      403: 'The token is limited to some bots.',
      404: NO_KIND,
      409: '`the bot kind demo is not quarantined`',
    },
  },
  'POST /invoke': {
    id: 'invoke',
    access: 'invoke',
    activity: 'command',
    tag: 'Commands',
    summary: 'Send a command to bots or to the service',
    description: [
      '`session_id` is a bot, a list of up to 1,000 bots, or null for the service, whose commands are `ping`, `status` and `drill` (needs the scope `admin`, and drills enabled).',
      'A command is cancelled when its client disconnects. Every result is also a `log` event with the scope `dispatch`.',
    ].join('\n\n'),
    body: {
      schema: InvokeBody,
      example: { session_id: 'demo-1', command: 'say', args: { text: 'hello' } },
    },
    answers: {
      200: {
        description: '`result` for one target; for a list, a result or an error for each.',
        schema: InvokeOutput,
        example: { result: { said: 'hello' } },
      },
    },
    errors: {
      404: '`no bot "x"`, or `no command "x"`.',
      409: 'The bot is not running.',
      500: 'The command threw: its message.',
      503: HOST_GONE,
      504: '`say did not answer within 10000 ms`',
    },
  },
} satisfies Routes;
