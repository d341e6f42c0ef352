// Imported by main and, as a type, by all threads. Owns the shape of the configuration: config/schema.json and
// docs/CONFIGURATION.md are made from here, config/default.json holds a value for every key.

import { CreateBotBody, RestartPolicy } from './bots.js';
import Type, { type Static } from './typebox.js';

/**
 * What bots and streams may take together at a shutdown, in ms. It is over within 10 s, and the hard kill comes at 9.5 s
 * (src/cli/stop-signals.ts); what is left is for the ends of threads, a second of it for hosts that hang.
 */
export const MAX_SHUTDOWN_MS = 7500;

const closed = { additionalProperties: false };

export const Config = Type.Object(
  {
    engine: Type.Unsafe<'auto' | 'uws' | 'node'>({
      type: 'string',
      enum: ['auto', 'uws', 'node'],
      description:
        'HTTP engine: uWebSockets.js, node:http, or auto for uWebSockets.js where its binary loads.',
    }),
    http: Type.Object(
      {
        host: Type.String({ minLength: 1, description: 'Address to listen on.' }),
        port: Type.Integer({
          minimum: 0,
          maximum: 65535,
          description: 'TCP port; 0 takes any free one.',
        }),
        fronts: Type.Integer({
          minimum: 1,
          maximum: 64,
          description: 'Front threads that share the port.',
        }),
        max_body_bytes: Type.Integer({
          minimum: 1024,
          maximum: 16_777_216,
          description: 'Largest request body, in bytes; larger ones get 413.',
        }),
        max_bodies_bytes: Type.Integer({
          minimum: 65_536,
          maximum: 4_294_967_296,
          description:
            'Bytes of request bodies that are on their way to one front, without the first 4 KiB of each; what is beyond gets 503.',
        }),
        body_timeout_ms: Type.Integer({
          minimum: 100,
          // uWebSockets cuts a connection that is idle for 8 s and more, and then nobody gets an answer.
          maximum: 7000,
          description: 'How long a request body may take to arrive, in ms; then 408.',
        }),
        cors_origins: Type.Array(
          Type.String({
            pattern: '^(null|[a-z][a-z0-9+.-]*://[^/\\s,*?#]+)$',
          }),
          {
            uniqueItems: true,
            description:
              'Origins whose pages may read the answers, as browsers send them: `https://dash.example`, `tauri://localhost`, or `null`.',
          },
        ),
        max_json_depth: Type.Integer({
          minimum: 8,
          maximum: 1000,
          description: 'Objects and arrays inside one another in a JSON body; deeper ones get 400.',
        }),
        max_url_bytes: Type.Integer({
          minimum: 256,
          maximum: 65_536,
          description: 'Longest path with its query, in bytes; longer ones get 414.',
        }),
        max_header_bytes: Type.Integer({
          minimum: 4096,
          maximum: 65_536,
          description:
            'Largest request line with its headers, in bytes; larger ones get 431. uWebSockets.js lets more through when it arrives in one piece.',
        }),
        header_timeout_ms: Type.Integer({
          minimum: 1000,
          maximum: 60_000,
          description:
            'How long the head of a request may take, and a connection that has sent nothing, in ms. uWebSockets.js has its own: 8 to 12 s.',
        }),
        idle_timeout_ms: Type.Integer({
          minimum: 1000,
          maximum: 600_000,
          description:
            'How long a connection stays open between requests, in ms. uWebSockets.js has its own: 8 to 12 s.',
        }),
        max_connections: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Open connections in total; one more gets 503 and is closed.',
        }),
        max_connections_per_address: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Open connections from one client address (of IPv6: from one network of 64 bits); one more gets 429 and is closed. With uWebSockets.js on Linux only, and counted once a second: docs/ENGINES.md.',
        }),
        max_requests_in_flight: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Requests that one front works on at once, for each path and method; one more gets 503. Those whose body is still coming do not count.',
        }),
      },
      closed,
    ),
    tls: Type.Object(
      {
        cert: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description:
            'PEM file with the certificate and those between it and its root; with it the service speaks HTTPS only. SIGHUP reads it anew.',
        }),
        key: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description: "PEM file with the certificate's private key, without a passphrase.",
        }),
      },
      closed,
    ),
    data_dir: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description:
        'Where pin.txt and the token store are kept; null takes $XDG_DATA_HOME/drover or what the platform has for it.',
    }),
    pin: Type.Object(
      {
        capacity: Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Wrong PINs that a full bucket allows.',
        }),
        refill_per_minute: Type.Integer({
          minimum: 1,
          maximum: 60_000,
          description: 'Attempts that come back each minute.',
        }),
      },
      closed,
    ),
    stream: Type.Object(
      {
        ring_bytes: Type.Integer({
          // Room for a few of the largest frames, or the writer could not reserve one while others are read.
          minimum: 262_144,
          maximum: 4_294_967_296,
          description:
            'Size of the frame ring, in bytes: how far back a stream can resume from memory.',
        }),
        heartbeat_ms: Type.Integer({
          minimum: 100,
          // Clients take 60 s without a byte for a dead connection (src/client/event-stream.ts), and so do many proxies.
          maximum: 45_000,
          description:
            'A comment is sent to a stream that was silent for this long, in ms. drover/client and the dashboard take a connection for dead that was silent for 60 s.',
        }),
        stall_ms: Type.Integer({
          minimum: 100,
          description: 'A stream whose reader takes nothing for this long is closed, in ms.',
        }),
        max_streams: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Open streams in total; one more gets 503.',
        }),
        max_streams_per_token: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Open streams of one token; one more gets 429. Below max_streams, or one could keep all others out.',
        }),
        max_streams_per_address: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Open streams from one client address (of IPv6: from one network of 64 bits); one more gets 429. Behind a proxy or a router many viewers have one.',
        }),
        retry_ms: Type.Integer({
          minimum: 0,
          description:
            'What `retry:` tells browsers to wait before they reconnect, in ms, give or take a quarter.',
        }),
      },
      closed,
    ),
    hosts: Type.Object(
      {
        count: Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Null()], {
          description: 'Bot host threads; null takes the number of cores less two, at least one.',
        }),
        max_dedicated: Type.Integer({
          minimum: 0,
          maximum: 1024,
          description:
            'Bots that may have a host of their own at a time, each a thread; one more gets 503.',
        }),
        max_heap_mb: Type.Integer({
          minimum: 32,
          description:
            'What one bot host may use, its heap and its Buffers, in MB; above it is ended.',
        }),
        in_flight_bytes: Type.Integer({
          minimum: 65_536,
          description:
            'Bytes of events that a bot host may have on their way; above it info lines are skipped and counted.',
        }),
        stop_grace_ms: Type.Integer({
          minimum: 0,
          maximum: 60_000,
          description: 'How long a bot may take to stop, in ms; then it is abandoned.',
        }),
        kind_load_ms: Type.Integer({
          minimum: 100,
          description:
            'How long the module of a kind may take to load, in ms; then it is left out and the rest start.',
        }),
        bot_lines_per_second: Type.Integer({
          minimum: 0,
          description:
            'Info lines per second that one bot may write, with a burst of as many; more are skipped and counted. 0 is no limit.',
        }),
      },
      closed,
    ),
    invoke: Type.Object(
      {
        timeout_ms: Type.Integer({
          minimum: 10,
          description: 'How long a command may take, in ms; then 504.',
        }),
      },
      closed,
    ),
    shutdown: Type.Object(
      {
        bots_ms: Type.Integer({
          minimum: 0,
          maximum: MAX_SHUTDOWN_MS,
          description:
            'How long bots may take to stop at shutdown, in ms; with shutdown.streams_ms at most 7,500.',
        }),
        streams_ms: Type.Integer({
          minimum: 0,
          maximum: MAX_SHUTDOWN_MS,
          description:
            'How long streams may take to get their last frames at shutdown, in ms; with shutdown.bots_ms at most 7,500.',
        }),
      },
      closed,
    ),
    log: Type.Object(
      {
        access: Type.Unsafe<'off' | 'errors' | 'all'>({
          type: 'string',
          enum: ['off', 'errors', 'all'],
          description:
            'Which requests get a line on standard output: none, those answered with 400 and above, or all.',
        }),
      },
      closed,
    ),
    pressure: Type.Object(
      {
        max_bots: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Bots that there may be; one more gets 503.',
        }),
        max_cpu: Type.Number({
          minimum: 0.01,
          maximum: 1,
          description:
            'Share of its time that the busiest of the fronts and the broadcaster may work; above it new streams and bots get 503. 1 is no limit.',
        }),
        max_memory_mb: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
          description:
            'Resident memory of the process (on Linux without mapped files), in MB, above which new streams and bots get 503; null takes nine tenths of what the system gives it.',
        }),
        max_queue: Type.Number({
          minimum: 0.01,
          maximum: 1,
          description:
            'Share of `hosts.in_flight_bytes` that the fullest bot host may use; above it new bots get 503. 1 is no limit.',
        }),
      },
      closed,
    ),
    journal: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Keep what was on the stream: for GET /api/events, GET /api/stats, and streams that resume beyond the ring or after a restart.',
        }),
        max_bytes: Type.Integer({
          minimum: 1_048_576,
          maximum: 1_099_511_627_776,
          description: 'Bytes that are kept; the oldest events go first.',
        }),
        max_age_hours: Type.Number({
          minimum: 0.01,
          maximum: 87_600,
          description: 'Hours that events are kept.',
        }),
        flush_ms: Type.Integer({
          minimum: 5,
          maximum: 10_000,
          description:
            'How long an event may wait before it is written, in ms: what a kill -9 can cost.',
        }),
        fsync: Type.Union(
          [Type.Literal('always'), Type.Literal('background'), Type.Literal('never')],
          {
            description:
              'When what is written is forced to the disk: before it counts, right behind it (a power failure costs moments), or when the system pleases (a power failure may break the journal). A kill -9 costs no more with one than with another.',
          },
        ),
      },
      closed,
    ),
    demo: Type.Object(
      {
        enabled: Type.Boolean({ description: 'Start the demo world and its bots.' }),
        bots: Type.Integer({ minimum: 0, maximum: 10_000, description: 'How many demo bots.' }),
      },
      closed,
    ),
    drills: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Offer the service command `drill`, which kills a thread as a crash would: for tests of what happens then.',
        }),
      },
      closed,
    ),
    kinds: Type.Array(Type.String({ minLength: 1 }), {
      description:
        'Where more kinds of bots are: directories (every .js, .mjs file in it is a kind) or names of packages.',
    }),
    restart: RestartPolicy,
    watchdog: Type.Object(
      {
        hang_ms: Type.Integer({
          minimum: 500,
          description:
            'A bot host whose loop stands still for this long, in ms, is examined and replaced.',
        }),
      },
      closed,
    ),
    bots: Type.Array(CreateBotBody, {
      description: 'Bots to create, unless one with the same id is there from before.',
    }),
  },
  closed,
);
export type Config = Static<typeof Config>;
