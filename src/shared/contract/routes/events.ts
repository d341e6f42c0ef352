import { ActivityEvent, GapEvent, LogEvent, SessionEvent } from '../event-schemas.js';
import { EventPage, FieldHistory, PastStates, Stats } from '../journal-schemas.js';
import { ClusterStreamState } from '../nodes.js';
import { Operation } from '../operations.js';
import { LIMIT, MAX_HISTORY_FIELDS, MAX_STEP_S, POINTS } from '../query-bounds.js';
import { AlertEvent } from '../rules.js';
import Type from '../typebox.js';
import { exampleOf } from './examples.js';
import {
  ACTIVITY_FILTERS,
  botFilters,
  choice,
  EVENT_FILTERS,
  eventQuery,
  integer,
  integerWithDefault,
  list,
  moment,
  onlySelf,
  position,
  query,
  requiredList,
  text,
} from './parameters.js';
import type { Routes } from './route.js';

/** Errors of routes that ask the journal. */
const JOURNAL_ERRORS = {
  503: 'The journal is off, is being checked, or cannot be opened.',
  504: 'The journal did not answer within 20 s: its disk hangs, or the machine is very busy.',
};

/** Which part of the past, and in which form. */
const PAGE = {
  order: choice(['newest', 'oldest'], 'Default: `newest`, for downloads `oldest`.'),
  after: position(
    'An id (exclusive) or a time (inclusive): milliseconds, `2026-01-31` (UTC), or `2026-01-31T03:00:00Z` (`+01:00` with `+` as `%2B`).',
    '2026-01-31T03:00:00Z',
  ),
  before: position('As `after`, but exclusive for times too.'),
  limit: integer(`Maximum number of events in a page. Default: ${LIMIT.default}.`, {
    minimum: LIMIT.minimum,
    maximum: LIMIT.maximum,
  }),
  cursor: text('From the previous page, with the same parameters.'),
  format: choice(
    ['json', 'ndjson'],
    '`json` (default): a page. `ndjson`: the whole range as a download, one event per line.',
  ),
};

export const EVENT_ROUTES = {
  'GET /events': {
    id: 'events',
    access: 'read',
    query: {
      ...EVENT_FILTERS,
      query: eventQuery,
      snapshot: choice(['0', '1'], '`0` leaves out the initial snapshots.'),
      last_event_id: text(
        'As the header `Last-Event-ID`, which takes precedence. A value that is not an id is ignored.',
        '1d0b52646d-119',
      ),
      lastEventId: text(
        'The same, as event-source-polyfill sends it; takes precedence over `last_event_id`.',
      ),
    },
    tag: 'Events',
    summary: 'The event stream',
    description: [
      'Server-Sent Events. The stream sends `retry:`, the current snapshot of each bot as `session` events without `id:` (the last one with the position of the stream as its `id:`), and then live events. A comment is the heartbeat. Clients should handle frames without `event:` too.',
      'An id is `<epoch>-<number>`. To resume, send the last id that you received, with the same filter: the stream continues with the next event. A `gap` event declares events that are lost; the current snapshots follow it.',
      'An event passes if it matches one value of each given parameter; `gap` always passes. The stream ends when its token does.',
      'In a cluster this is the stream of all nodes, the same on each of them: an id can be resumed on any node. A `cluster` event, without an id, says that the node is cut off and the stream has nothing new until it is `on` again. The stream ends, and continues when it is resumed, when the node joins the cluster or leaves it.',
    ].join('\n\n'),
    headers: [
      {
        name: 'Last-Event-ID',
        description:
          'Id of the last event that the client received; browsers send it when they reconnect.',
        example: '1d0b52646d-119',
      },
    ],
    answers: {
      200: {
        description: 'The stream.',
        type: 'text/event-stream',
        schema: Type.String(),
        example:
          'id: 5019c95956-171\nevent: log\ndata: {"timestamp_ms":1795257586197,"level":"info","scope":"tcp","session_id":"demo-3","transport":"tcp","direction":"outgoing","message":"Move{x=\\"41\\", y=\\"11\\"}"}\n\n',
        events: {
          log: LogEvent,
          session: SessionEvent,
          gap: GapEvent,
          alert: AlertEvent,
          activity: ActivityEvent,
          operation: Operation,
          cluster: ClusterStreamState,
        },
      },
    },
    errors: {
      401: '`missing token`, `invalid token`, or `invalid ticket` (used, expired or unknown).',
      429: 'Too many streams are open with this token or from this address.',
      503: 'Too many streams are open, the service is under pressure, or its node has not joined the cluster yet.',
    },
  },
  'GET /api/events': {
    id: 'pastEvents',
    access: 'read',
    query: {
      ...EVENT_FILTERS,
      query: eventQuery,
      ...PAGE,
    },
    tag: 'Events',
    summary: 'Search past events',
    description: [
      'Reads the journal, which survives restarts and goes back as far as `journal.max_bytes` and `journal.max_age_hours` allow. Limits of the token apply as on streams. Lost events appear as `gap`.',
      'A page can have fewer events than `limit`, even none, and still a cursor: a long search stops after a while and continues with the cursor.',
      'In a cluster the journals of all nodes are asked, and their events merged by time. `missing` names the nodes that did not answer.',
    ].join('\n\n'),
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
    errors: JOURNAL_ERRORS,
  },
  'GET /api/activity': {
    id: 'activity',
    access: 'read',
    query: {
      ...ACTIVITY_FILTERS,
      session: list('Only what was done to the bot with this id.', ['demo-1']),
      ...botFilters('Only what was done to bots'),
      node: EVENT_FILTERS.node,
      query: query('Only activities', 'actor:Ada activity:bot.*'),
      ...PAGE,
    },
    tag: 'Events',
    summary: 'Who did what',
    description:
      'As `GET /api/events?event=activity`: what people and programs have done through the API, from the journal. A token that is limited to some bots sees what was done to these bots.',
    answers: {
      200: {
        description: 'A page, or a download.',
        schema: EventPage,
        example: {
          events: [{ id: '1d0b52646d-131', event: 'activity', data: exampleOf(ActivityEvent) }],
          cursor: null,
        },
        more: { 'application/x-ndjson': Type.String() },
      },
    },
    errors: JOURNAL_ERRORS,
  },
  'GET /api/bots/{id}/history': {
    id: 'botHistory',
    access: 'read',
    query: {
      field: requiredList(
        `What to read, at most ${MAX_HISTORY_FIELDS} of: \`status\`, \`desired\`, \`node\`, \`host\`, \`restarts\`, \`last_error\`, \`data.<name>\`, \`label.<name>\`.`,
        MAX_HISTORY_FIELDS,
        ['data.gold'],
      ),
      after: moment('A time as in `GET /api/events`. Default: an hour before `before`.'),
      before: moment('A time, exclusive. Default: now.'),
      points: integerWithDefault('Number of equal parts of the time.', POINTS),
      node: onlySelf,
    },
    tag: 'Bots',
    summary: 'What fields of a bot were',
    description: [
      'Reads the `session` events of the bot in the journal, divides the time into `points` parts of the same length, and returns for each part what the fields were last, with the lowest and the highest number of them. A part in which nothing of the bot was published is left out: its values are those of the part before it, or of `before`.',
      'At most 2,000 blocks of the journal are read (some 64 KiB each), divided evenly among the parts. A part that has more of them shows its newest snapshots, and is not `complete`.',
      'In a cluster the journals of all nodes are asked: the bot may have been on several. `missing` names the nodes that did not answer.',
    ].join('\n\n'),
    answers: {
      200: {
        description: 'The fields over time.',
        schema: FieldHistory,
        example: {
          from_ms: 1795257540000,
          step_ms: 60000,
          before: {
            at_ms: 1795257531000,
            count: 1,
            complete: true,
            values: { 'data.gold': { last: 120, min: 120, max: 120 } },
          },
          points: [
            {
              at_ms: 1795257600123,
              count: 3,
              complete: true,
              values: { 'data.gold': { last: 90, min: 80, max: 110 } },
            },
          ],
        },
      },
    },
    errors: {
      404: '`no bot "x"`: it does not exist, or the token is not allowed to see it.',
      ...JOURNAL_ERRORS,
    },
  },
  'GET /api/states': {
    id: 'pastStates',
    access: 'read',
    query: {
      at: moment(
        'The moment: a time as in `GET /api/events`. Default: now.',
        '2026-01-31T03:00:00Z',
      ),
      node: onlySelf,
    },
    tag: 'Events',
    summary: 'The states of all bots at a moment',
    description: [
      'What each bot was at a moment of the past, from the journal: as far back as that reaches, and with its limits. A bot that has had its status since before that is known too; `unknown` names those that are not. A bot that was not there is in neither list.',
      'A token that is limited to labels gets the bots that had them then. In a cluster the journals of all nodes are asked; `missing` names the nodes that did not answer.',
    ].join('\n\n'),
    answers: {
      200: {
        description: 'The states.',
        schema: PastStates,
        example: {
          at_ms: 1795271840000,
          known_from_ms: 1795185440000,
          is_in_gap: false,
          states: [
            {
              id: 'demo-1',
              kind: 'demo',
              status: 'in_world',
              desired: 'running',
              since_ms: 1795271800000,
              restarts: 0,
              host: 0,
              labels: { team: 'a' },
            },
          ],
          unknown: [],
        },
      },
    },
    errors: JOURNAL_ERRORS,
  },
  'GET /api/stats': {
    id: 'stats',
    access: 'read',
    query: {
      after: moment('A time as in `GET /api/events`. Default: an hour ago.'),
      before: moment('A time, exclusive. Default: now.'),
      step: integer(
        'Length of a bucket in s; without a `query` a multiple of 10. Default: about 300 buckets; at most 1,000.',
        { minimum: 1, maximum: MAX_STEP_S },
      ),
      query: eventQuery,
      node: onlySelf,
    },
    tag: 'Events',
    summary: 'Event statistics',
    description: [
      'Counts of all events are kept and answered at once. With a `query` the events that match are counted one by one, the newest first: a long count ends after a while, with `counted_from_ms`.',
      'Tokens that are limited to bots need a `query` (403 without), and count only what they reach. In a cluster the counts of all nodes are added; `missing` names the nodes that did not answer.',
    ].join('\n\n'),
    answers: {
      200: {
        description: 'Counts by time bucket.',
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
    errors: JOURNAL_ERRORS,
  },
} satisfies Routes;
