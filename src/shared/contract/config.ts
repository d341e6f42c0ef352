// The schema of the configuration. `npm run generate` creates config/schema.json and docs/CONFIGURATION.md from it;
// config/default.json has a value for every key.

import { BOT_ID } from './bot-id.js';
import {
  CreateBotBody,
  ISOLATIONS,
  type Isolation,
  Labels,
  quotaLimits,
  RestartPolicy,
} from './bots.js';
import { NODE_NAME } from './node-name.js';
import { ProgramDefinition } from './programs.js';
import Type, { type Static } from './typebox.js';

/**
 * Limit of shutdown.bots_ms and shutdown.streams_ms together. The process is killed after 9.5 s (src/cli/stop-signals.ts); the
 * rest is for ending the threads, including 1 s for hosts that hang.
 */
export const MAX_SHUTDOWN_MS = 7500;

/**
 * Ciphers of TLS 1.2 that both engines have, by their OpenSSL names. The first six have forward secrecy and authenticated
 * encryption. Without 3DES, RC4, and anything that does not authenticate the service.
 */
export const TLS_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'AES128-GCM-SHA256',
  'AES256-GCM-SHA384',
  'AES128-SHA',
  'AES256-SHA',
] as const;

const closed = { additionalProperties: false };

const tlsFile = (what: string) =>
  Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
    description: `${what}; null for none.`,
  });

export const Config = Type.Object(
  {
    engine: Type.Unsafe<'auto' | 'uws' | 'node'>({
      type: 'string',
      enum: ['auto', 'uws', 'node'],
      description:
        'HTTP engine: `uws` for uWebSockets.js, `node` for node:http, or `auto` for uWebSockets.js if its binary passes a self-test, otherwise node:http.',
    }),
    http: Type.Object(
      {
        host: Type.String({ minLength: 1, description: 'Address to listen on.' }),
        port: Type.Integer({
          minimum: 0,
          maximum: 65535,
          description: 'TCP port; 0 selects a free one.',
        }),
        fronts: Type.Integer({
          minimum: 1,
          maximum: 64,
          description: 'Number of front threads, which share the port.',
        }),
        max_body_bytes: Type.Integer({
          minimum: 1024,
          maximum: 16_777_216,
          description: 'Maximum size of a request body in bytes; larger ones get 413.',
        }),
        max_bodies_bytes: Type.Integer({
          minimum: 65_536,
          maximum: 4_294_967_296,
          description:
            'Maximum bytes of request bodies in flight per front, not counting the first 4 KiB of each; further requests get 503.',
        }),
        body_timeout_ms: Type.Integer({
          minimum: 100,
          // uWebSockets.js closes a connection that is idle for 8 s without a response.
          maximum: 7000,
          description: 'Time limit for receiving a request body in ms; then 408.',
        }),
        cors_origins: Type.Array(
          Type.String({
            pattern: '^(null|[a-z][a-z0-9+.-]*://[^/\\s,*?#]+)$',
          }),
          {
            uniqueItems: true,
            description:
              'Origins whose pages may read responses, as sent by browsers: `https://dash.example`, `tauri://localhost`, or `null`.',
          },
        ),
        allowed_hosts: Type.Array(
          Type.String({ pattern: '^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$' }),
          {
            uniqueItems: true,
            description:
              'Names by which pages may use the PIN, without port, for example `drover.example`. IP addresses, `localhost` and the names of this machine are always allowed.',
          },
        ),
        trusted_proxies: Type.Array(Type.String({ pattern: '^[0-9A-Fa-f.:]+(/[0-9]+)?$' }), {
          uniqueItems: true,
          description:
            'Addresses and networks of proxies, such as `127.0.0.1` or `10.0.0.0/8`: the client of a request from them is the one that `http.forwarded_header` names, in lines, limits and the access log. Their connections do not count for `http.max_connections_per_address`.',
        }),
        forwarded_header: Type.Unsafe<'x-forwarded-for' | 'forwarded'>({
          type: 'string',
          enum: ['x-forwarded-for', 'forwarded'],
          description:
            'The header in which trusted proxies name the client: `X-Forwarded-For`, with `X-Forwarded-Proto`, or `Forwarded`. The other one is ignored: proxies forward it as the client has sent it.',
        }),
        max_json_depth: Type.Integer({
          minimum: 8,
          maximum: 1000,
          description: 'Maximum nesting depth of a JSON body; deeper ones get 400.',
        }),
        max_url_bytes: Type.Integer({
          minimum: 256,
          maximum: 65_536,
          description: 'Maximum length of path and query in bytes; longer ones get 414.',
        }),
        max_header_bytes: Type.Integer({
          minimum: 4096,
          maximum: 65_536,
          description:
            'Maximum size of the request line and headers in bytes; larger ones get 431. uWebSockets.js accepts more if it arrives in one piece.',
        }),
        header_timeout_ms: Type.Integer({
          minimum: 1000,
          maximum: 60_000,
          description:
            'Time limit for receiving a request head, also on a new connection, in ms. uWebSockets.js has a fixed limit of 8 to 12 s.',
        }),
        idle_timeout_ms: Type.Integer({
          minimum: 1000,
          maximum: 600_000,
          description:
            'How long a connection stays open between requests, in ms. uWebSockets.js has a fixed limit of 8 to 12 s.',
        }),
        max_connections: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open connections; further ones get 503 and are closed. Lowered at the start if the process may not open that many files; see docs/OPERATIONS.md.',
        }),
        reserved_files: Type.Union(
          [Type.Integer({ minimum: 0, maximum: 1_000_000 }), Type.Null()],
          {
            description:
              'Open files that connections to the service may not take: those of bots, of dedicated hosts and what is opened for a moment; null for a quarter of all. See docs/OPERATIONS.md.',
          },
        ),
        max_connections_per_address: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open connections per client address (IPv6: per /64 network); further ones get 429 and are closed. With uWebSockets.js on Linux only, and counted once per second; see docs/ENGINES.md.',
        }),
        max_requests_in_flight: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of requests in progress per front, for each path and method; further ones get 503. Requests whose body is still arriving do not count.',
        }),
      },
      closed,
    ),
    tls: Type.Object(
      {
        cert: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description:
            'PEM file with the certificate and its intermediate certificates. If set, the service uses HTTPS only. SIGHUP reloads it.',
        }),
        key: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description: 'PEM file with the private key, without a passphrase. SIGHUP reloads it.',
        }),
        ciphers: Type.Array(
          Type.Unsafe<(typeof TLS_CIPHERS)[number]>({ type: 'string', enum: [...TLS_CIPHERS] }),
          {
            minItems: 1,
            uniqueItems: true,
            description:
              'Ciphers of TLS 1.2; which of them is used, the client decides. The default ones have forward secrecy. TLS 1.3 is always on, with its own ciphers; older versions are always off.',
          },
        ),
        hsts_max_age_days: Type.Integer({
          minimum: 0,
          maximum: 3650,
          description:
            'How long browsers use only HTTPS for this host name, on all its ports, in days: `Strict-Transport-Security` on responses over HTTPS. 0 ends it in browsers that come back.',
        }),
      },
      closed,
    ),
    data_dir: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description:
        "Directory for pin.txt, the stores and the journal; null selects $XDG_DATA_HOME/drover or the platform's equivalent.",
    }),
    auth: Type.Object(
      {
        pin: Type.Boolean({
          description:
            'Accept the PIN. `false` switches it off as soon as there is a token; `drover tokens create --data-dir` creates one on the machine of the service.',
        }),
        sign_in_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          description:
            'A token from the PIN or from a sign-in link expires when it is unused for this many days; 0 for never. An open stream is a use. In a cluster, give all nodes the same.',
        }),
      },
      closed,
    ),
    pin: Type.Object(
      {
        capacity: Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Number of wrong PINs that a full bucket allows.',
        }),
        refill_per_minute: Type.Integer({
          minimum: 1,
          maximum: 60_000,
          description: 'Number of attempts added to the bucket per minute.',
        }),
      },
      closed,
    ),
    stream: Type.Object(
      {
        ring_bytes: Type.Integer({
          // Room for several of the largest frames: the writer must be able to reserve one while others are read.
          minimum: 262_144,
          maximum: 4_294_967_296,
          description:
            'Size of the frame ring in bytes. It determines how far back a stream can resume from memory.',
        }),
        heartbeat_ms: Type.Integer({
          minimum: 100,
          // Many proxies consider a connection dead after 60 s without data.
          maximum: 45_000,
          description:
            'A stream without events for this long, in ms, gets a comment. drover/client and the dashboard consider a connection dead after one and a half of this without data.',
        }),
        stall_ms: Type.Integer({
          minimum: 100,
          description: 'A stream whose client reads nothing for this long, in ms, is closed.',
        }),
        max_held_bytes: Type.Integer({
          minimum: 1_048_576,
          maximum: 4_294_967_296,
          description:
            'Maximum bytes per front that clients which do not read may leave in memory before all streams get small writes only: 16 KB with uWebSockets.js, 64 KiB with node:http.',
        }),
        max_streams: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of open streams; further ones get 503.',
        }),
        max_streams_per_token: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open streams per token; further ones get 429. Set it below max_streams, so that one token cannot use all streams.',
        }),
        max_streams_per_address: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open streams per client address (IPv6: per /64 network); further ones get 429. Viewers behind NAT share an address, and so do those behind a proxy that is not in http.trusted_proxies.',
        }),
        retry_ms: Type.Integer({
          minimum: 0,
          description:
            'Reconnect delay sent to browsers as `retry:`, in ms, with a random deviation of up to 25 %, and what stream.returns_per_second adds.',
        }),
        returns_per_second: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'How many clients come back in a second when the service is lost with all its streams: the reconnect delay of a stream has a random addition of up to the number of open streams divided by this, in s.',
        }),
      },
      closed,
    ),
    hosts: Type.Object(
      {
        count: Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Null()], {
          description:
            'Number of shared bot hosts. null for the number of cores minus two, but at least one, and one more whenever each has 500 bots, until there are eight: docs/OPERATIONS.md.',
        }),
        isolation: Type.Unsafe<Isolation>({
          type: 'string',
          enum: [...ISOLATIONS],
          description:
            'What bot hosts run in, unless the kind or the bot says otherwise. `thread`: of the service. `process`: a child process, and no bot kind is loaded in the service; see docs/BOTS.md.',
        }),
        isolation_by_kind: Type.Record(
          Type.String(),
          Type.Unsafe<Isolation>({ type: 'string', enum: [...ISOLATIONS] }),
          {
            description:
              'The same for the bots of a kind, such as `{"trader": "process"}`. What a bot says comes first.',
          },
        ),
        env: Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*\\*?$' }), {
          uniqueItems: true,
          description:
            "Environment variables of the service that bots and programs get beside those that all get, such as `MY_TOKEN`, or `GAME_*` for all with that beginning. The service's own never reach them; see docs/BOTS.md.",
        }),
        max_dedicated: Type.Integer({
          minimum: 0,
          maximum: 1024,
          description:
            'Maximum number of dedicated bot hosts and hosts of a group together; bots that need a further one get 503.',
        }),
        max_heap_mb: Type.Integer({
          minimum: 32,
          description:
            'Memory limit of a bot host (heap and Buffers) in MB; a host above it is terminated.',
        }),
        process_memory_mb: Type.Union([Type.Integer({ minimum: 64 }), Type.Null()], {
          description:
            'Hard limit of the system for the memory of a bot host process, in MB, with what it has started where cgroup v2 is delegated; null for max_heap_mb plus 512. See docs/BOTS.md.',
        }),
        process_cpu: Type.Union([Type.Number({ minimum: 0.01, maximum: 1024 }), Type.Null()], {
          description:
            'Hard limit of the system for the CPU of a bot host process, in cores; it needs a delegated cgroup v2. null for none. See docs/BOTS.md.',
        }),
        in_flight_bytes: Type.Integer({
          minimum: 65_536,
          description:
            'Maximum bytes of events in flight per bot host; above it info lines are skipped and counted.',
        }),
        stop_grace_ms: Type.Integer({
          minimum: 0,
          maximum: 60_000,
          description: 'Time limit for stopping a bot in ms; then it is abandoned.',
        }),
        kind_load_ms: Type.Integer({
          minimum: 100,
          description:
            'Time limit for loading the module of a kind in ms; then the service starts without it.',
        }),
        starts_per_second: Type.Union(
          [Type.Number({ minimum: 0.01, maximum: 100_000 }), Type.Null()],
          {
            description:
              'How many bots start in a second, evenly spread: when the service starts, when many are started together, and when a host is lost. A bot that is started alone comes before those that wait. null for no limit.',
          },
        ),
        starts_per_second_by_kind: Type.Record(
          Type.String(),
          Type.Number({ minimum: 0.01, maximum: 100_000 }),
          {
            description:
              'The same for the bots of a kind, such as `{"irc": 0.5}`, so that they do not all log in at once. Kinds that are not named have no further limit.',
          },
        ),
        bot_lines_per_second: Type.Integer({
          minimum: 0,
          description:
            'Maximum info lines per second of one bot, with a burst of the same size; of each other level a tenth of that. Further lines are skipped and counted. 0 means no limit.',
        }),
      },
      closed,
    ),
    network: Type.Object(
      {
        allow: Type.Union([Type.Array(Type.String({ minLength: 1 })), Type.Null()], {
          description:
            'What bots may connect to with the functions of their context (docs/SECURITY.md): `irc.example`, `irc.example:6697`, `*.example.com`, `10.0.0.0/8`, `[2001:db8::1]:443`, `*:443`. null allows everything. The demo world is at 127.0.0.1.',
        }),
      },
      closed,
    ),
    invoke: Type.Object(
      {
        timeout_ms: Type.Integer({
          minimum: 10,
          description: 'Time limit of a command in ms; then 504.',
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
            'Time limit for stopping bots at shutdown in ms. Together with shutdown.streams_ms at most 7,500.',
        }),
        streams_ms: Type.Integer({
          minimum: 0,
          maximum: MAX_SHUTDOWN_MS,
          description:
            'Time limit for sending the last frames to streams at shutdown in ms. Together with shutdown.bots_ms at most 7,500.',
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
            'Which requests are logged to standard output: none, those with a status of 400 or above, or all.',
        }),
      },
      closed,
    ),
    pressure: Type.Object(
      {
        max_bots: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of bots; further ones get 503.',
        }),
        max_cpu: Type.Number({
          minimum: 0.01,
          maximum: 1,
          description:
            'Maximum CPU share of the busiest thread among fronts and broadcaster; above it new streams and bots get 503. 1 means no limit.',
        }),
        max_memory_mb: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
          description:
            'Maximum resident memory of the process (on Linux without mapped files) in MB; above it new streams and bots get 503. null selects 90 % of the available memory.',
        }),
        max_queue: Type.Number({
          minimum: 0.01,
          maximum: 1,
          description:
            'Maximum share of `hosts.in_flight_bytes` that a bot host uses; above it new bots get 503. 1 means no limit.',
        }),
      },
      closed,
    ),
    journal: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Store all events for GET /api/events, GET /api/states, GET /api/stats, and streams that resume from before the ring or after a restart.',
        }),
        max_bytes: Type.Integer({
          minimum: 1_048_576,
          maximum: 1_099_511_627_776,
          description: 'Maximum size of the journal in bytes; the oldest events are deleted first.',
        }),
        max_age_hours: Type.Number({
          minimum: 0.01,
          maximum: 87_600,
          description: 'Retention time of events in hours.',
        }),
        flush_ms: Type.Integer({
          minimum: 5,
          maximum: 10_000,
          description:
            'Longest time before an event is written, in ms: with the up to 100 ms for which bot hosts gather lines while no stream is open, the most that kill -9 can lose.',
        }),
        fsync: Type.Union(
          [Type.Literal('always'), Type.Literal('background'), Type.Literal('never')],
          {
            description:
              'When writes are forced to disk: `always` before they are acknowledged; `background` right after (a power failure can lose moments); `never` leaves it to the system (a power failure can damage the journal). It makes no difference for kill -9.',
          },
        ),
      },
      closed,
    ),
    demo: Type.Object(
      {
        enabled: Type.Boolean({ description: 'Start the demo world and its bots.' }),
        bots: Type.Integer({ minimum: 0, maximum: 10_000, description: 'Number of demo bots.' }),
      },
      closed,
    ),
    drills: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Enable the service command `drill`, which kills a thread like a crash or blocks its event loop, to test recovery.',
        }),
      },
      closed,
    ),
    kinds: Type.Array(Type.String({ minLength: 1 }), {
      description:
        'Sources of additional bot kinds: directories (each .js, .mjs or .program.json file is a kind), files or package names.',
    }),
    programs: Type.Record(Type.String({ pattern: BOT_ID.source }), ProgramDefinition, {
      ...closed,
      description:
        'Programs that are kinds of bots, by the name of the kind: `{"chess": {"command": ["gnuchess", "--uci"], "protocol": "raw"}}`. See docs/STDIO.md.',
    }),
    restart: RestartPolicy,
    start: Type.Object(
      {
        bots: Type.Unsafe<'all' | 'safe' | 'none'>({
          type: 'string',
          enum: ['all', 'safe', 'none'],
          description:
            'Which bots start with the service: `all` that are meant to run; `safe`: without the (up to 20) that requests started last; `none`. The others stay stopped until they are started.',
        }),
        safe_after: Type.Integer({
          minimum: 0,
          maximum: 20,
          description:
            'After so many unclean ends within a minute the service starts as with `safe`, and as with `none` if that did not help. 0 switches that off.',
        }),
      },
      closed,
    ),
    watchdog: Type.Object(
      {
        hang_ms: Type.Integer({
          minimum: 500,
          description:
            'A bot host, or another thread of the service, whose event loop is blocked for this long, in ms, is examined and replaced.',
        }),
        slow_ms: Type.Union([Type.Integer({ minimum: 50 }), Type.Null()], {
          description:
            'A bot whose code holds the event loop of its host for this long, in ms, is named in a warn line; null for never.',
        }),
        isolate_ms: Type.Union([Type.Integer({ minimum: 100 }), Type.Null()], {
          description:
            'A bot that has done so three times within five minutes, for this long in all, in ms, gets a dedicated host; null for never.',
        }),
      },
      closed,
    ),
    quota: Type.Object(
      {
        window_ms: Type.Integer({
          minimum: 1000,
          maximum: 600_000,
          description:
            'Over how long what a bot uses is averaged, in ms, for its snapshot, for metrics and for quotas.',
        }),
        ...quotaLimits,
      },
      closed,
    ),
    cluster: Type.Object(
      {
        servers: Type.Array(Type.String({ minLength: 1 }), {
          description:
            'Addresses of the NATS servers of the cluster: `["nats://10.0.0.1:4222"]`, with `user:password@` in front of the host or `tls://` where needed. Empty for a single service.',
        }),
        name: Type.String({
          pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,30}$',
          description: 'Name of the cluster. Several can share the NATS servers.',
        }),
        node: Type.Union([Type.String({ pattern: NODE_NAME.source }), Type.Null()], {
          description: 'Name of this node, unique in the cluster; null for the host name.',
        }),
        labels: {
          ...Labels,
          description: 'Labels of this node, which bots select in `node_labels`.',
        } as typeof Labels,
        credentials: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description: 'NATS credentials file (`.creds`); null for none.',
        }),
        tls: Type.Object(
          {
            ca: tlsFile('CA certificate of the NATS servers, as a PEM file'),
            cert: tlsFile('Client certificate for the NATS servers, as a PEM file'),
            key: tlsFile('Its key, as a PEM file'),
          },
          closed,
        ),
        lease_ms: Type.Integer({
          minimum: 2000,
          maximum: 300_000,
          description:
            'How long a node that does not answer keeps its bots, in ms; then others start them. Before that the node has stopped them. Three quarters of it is how long NATS may be silent.',
        }),
        replicas: Type.Union([Type.Integer({ minimum: 1, maximum: 5 }), Type.Null()], {
          description:
            'Copies of the stream and the buckets on the NATS servers; null for 3 with three servers or more, else 1.',
        }),
        window_bytes: Type.Integer({
          minimum: 16_777_216,
          maximum: 1_099_511_627_776,
          description:
            'Maximum size of the stream of events on NATS, compressed. Streams that resume from further back get a gap.',
        }),
        window_ms: Type.Integer({
          minimum: 60_000,
          maximum: 604_800_000,
          description: 'Maximum age of events in that stream in ms.',
        }),
        secret_key_file: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description:
            'File with the key that signs what nodes say and store over NATS, and encrypts the secrets in the configurations of bots; the same on each node (32 bytes in hex or base64). Further lines are keys that are still accepted (docs/SECURITY.md, "NATS"). null: nothing is signed, and secrets stay on the node that was given them; its bots that have some do not move.',
        }),
        accept_unsigned: Type.Boolean({
          description:
            'With a key: also accept what is not signed, or is signed with another key. Only while nodes get a key or are upgraded (docs/SECURITY.md, "NATS").',
        }),
      },
      closed,
    ),
    bots: Type.Array(CreateBotBody, {
      description: 'Bots to create at startup, unless a bot with the same id exists.',
    }),
  },
  closed,
);
export type Config = Static<typeof Config>;
