// The keys of the configuration and their defaults. `npm run generate` creates config/schema.json and docs/CONFIGURATION.md from them.

import { BOT_ID } from './bot-id.js';
import {
  CreateBotBody,
  ISOLATIONS,
  type Isolation,
  Labels,
  quotaLimits,
  RestartPolicy,
} from './bots.js';
import type { FIXED } from './fixed.js';
import { NODE_NAME } from './node-name.js';
import { ProgramDefinition } from './programs.js';
import Type, { type Static } from './typebox.js';

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
        'HTTP engine: uWebSockets.js, node:http, or `auto`: the former if its binary passes a self-test.',
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
          description:
            'Maximum size of a request body in bytes; then 413. Requests about many bots may be larger.',
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
              'Names under which pages may use the PIN, without port, such as `drover.example`. IP addresses, `localhost` and the names of this machine are always allowed.',
          },
        ),
        trusted_proxies: Type.Array(Type.String({ pattern: '^[0-9A-Fa-f.:]+(/[0-9]+)?$' }), {
          uniqueItems: true,
          description:
            'Addresses and networks of proxies, such as `127.0.0.1` or `10.0.0.0/8`: `http.forwarded_header` names the client of their requests. Their connections do not count for `http.max_connections_per_address`.',
        }),
        forwarded_header: Type.Unsafe<'x-forwarded-for' | 'forwarded'>({
          type: 'string',
          enum: ['x-forwarded-for', 'forwarded'],
          description:
            'The header in which trusted proxies name the client: `X-Forwarded-For` (with `X-Forwarded-Proto`) or `Forwarded`. The other one is ignored.',
        }),
        max_connections: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open connections; then 503. Lowered if the process may not open that many files: docs/OPERATIONS.md.',
        }),
        reserved_files: Type.Union(
          [Type.Integer({ minimum: 0, maximum: 1_000_000 }), Type.Null()],
          {
            description:
              'Open files kept for bots and hosts; null for a quarter of all. See docs/OPERATIONS.md.',
          },
        ),
        max_connections_per_address: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description:
            'Maximum number of open connections, and of streams, per client address (IPv6: /64 network); then 429. Viewers behind NAT or an untrusted proxy share an address. Connections with uWebSockets.js on Linux only: docs/ENGINES.md.',
        }),
      },
      closed,
    ),
    tls: Type.Object(
      {
        cert: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description:
            'PEM file with the certificate and its intermediate certificates; the service then uses HTTPS only.',
        }),
        key: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description: 'PEM file with the private key, without a passphrase.',
        }),
        ciphers: Type.Array(
          Type.Unsafe<(typeof TLS_CIPHERS)[number]>({ type: 'string', enum: [...TLS_CIPHERS] }),
          {
            minItems: 1,
            uniqueItems: true,
            description:
              'Ciphers of TLS 1.2; the default ones have forward secrecy. TLS 1.3 is always on, older versions are always off.',
          },
        ),
        hsts_max_age_days: Type.Integer({
          minimum: 0,
          maximum: 3650,
          description:
            'How long browsers use only HTTPS for this host name, on all ports, in days (`Strict-Transport-Security`). 0 ends it.',
        }),
      },
      closed,
    ),
    data_dir: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description: "Data directory; null for $XDG_DATA_HOME/drover or the platform's equivalent.",
    }),
    auth: Type.Object(
      {
        pin: Type.Boolean({
          description:
            'Accept the PIN. `false` switches it off once a token exists: `drover tokens create --data-dir`.',
        }),
        sign_in_days: Type.Integer({
          minimum: 0,
          maximum: 36_500,
          description:
            'Days without use after which a token from the PIN or a sign-in link expires; 0 for never. An open stream is use. The same on all nodes of a cluster.',
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
            'Size of the frame ring in bytes: how far back a stream can resume from memory.',
        }),
        heartbeat_ms: Type.Integer({
          minimum: 100,
          // Many proxies consider a connection dead after 60 s without data.
          maximum: 45_000,
          description:
            'Silence in ms after which a stream gets a comment. drover/client considers a connection dead after one and a half of this.',
        }),
        max_streams: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of open streams; then 503.',
        }),
        max_streams_per_token: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of open streams per token; then 429.',
        }),
      },
      closed,
    ),
    hosts: Type.Object(
      {
        count: Type.Union([Type.Integer({ minimum: 1, maximum: 256 }), Type.Null()], {
          description:
            'Number of shared bot hosts. null: cores minus two, at least one, and more as bots come (docs/OPERATIONS.md).',
        }),
        isolation: Type.Unsafe<Isolation>({
          type: 'string',
          enum: [...ISOLATIONS],
          description:
            'What bot hosts are, unless the kind or the bot says otherwise. With `process` the service itself loads no kind: docs/BOTS.md.',
        }),
        isolation_by_kind: Type.Record(
          Type.String(),
          Type.Unsafe<Isolation>({ type: 'string', enum: [...ISOLATIONS] }),
          {
            description: 'The same by kind, such as `{"trader": "process"}`.',
          },
        ),
        env: Type.Array(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*\\*?$' }), {
          uniqueItems: true,
          description:
            'Environment variables that bots and programs also get, such as `MY_TOKEN` or `GAME_*`: docs/BOTS.md.',
        }),
        max_dedicated: Type.Integer({
          minimum: 0,
          maximum: 1024,
          description:
            'Maximum number of dedicated bot hosts and hosts of groups together; then 503.',
        }),
        max_heap_mb: Type.Integer({
          minimum: 32,
          description:
            'Memory limit of a bot host (heap and Buffers) in MB. The system holds a host process to 512 MB more: docs/BOTS.md.',
        }),
        process_cpu: Type.Union([Type.Number({ minimum: 0.01, maximum: 1024 }), Type.Null()], {
          description:
            'CPU limit of a bot host process, in cores; needs a delegated cgroup v2. See docs/BOTS.md.',
        }),
        stop_grace_ms: Type.Integer({
          minimum: 0,
          maximum: 60_000,
          description: 'Time limit for stopping a bot in ms; when the service stops, at most 5 s.',
        }),
        starts_per_second: Type.Union(
          [Type.Number({ minimum: 0.01, maximum: 100_000 }), Type.Null()],
          {
            description:
              'How many bots start in a second, evenly spread. A bot that is started alone goes first. null for no limit.',
          },
        ),
        starts_per_second_by_kind: Type.Record(
          Type.String(),
          Type.Number({ minimum: 0.01, maximum: 100_000 }),
          {
            description: 'The same by kind, such as `{"irc": 0.5}`.',
          },
        ),
        bot_lines_per_second: Type.Integer({
          minimum: 0,
          description:
            'Maximum info lines per second of one bot, and burst; a tenth for each other level. Further lines are skipped. 0 means no limit.',
        }),
      },
      closed,
    ),
    network: Type.Object(
      {
        allow: Type.Union([Type.Array(Type.String({ minLength: 1 })), Type.Null()], {
          description:
            'What bots may connect to through their context (docs/SECURITY.md): `irc.example`, `irc.example:6697`, `*.example.com`, `10.0.0.0/8`, `[2001:db8::1]:443`, `*:443`. null allows everything. The demo world is at 127.0.0.1.',
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
    log: Type.Object(
      {
        access: Type.Unsafe<'off' | 'errors' | 'all'>({
          type: 'string',
          enum: ['off', 'errors', 'all'],
          description: 'Which requests are logged to standard output; `errors` from status 400 on.',
        }),
      },
      closed,
    ),
    pressure: Type.Object(
      {
        max_bots: Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of bots; then 503.',
        }),
        max_cpu: Type.Number({
          minimum: 0.01,
          maximum: 1,
          description:
            'Maximum CPU share of the busiest front or the broadcaster; then new streams and bots get 503. 1 means no limit.',
        }),
        max_memory_mb: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
          description:
            'Maximum resident memory of the process (on Linux without mapped files) in MB; then new streams and bots get 503. null for 90 % of the available memory.',
        }),
      },
      closed,
    ),
    journal: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Store all events: history, search, statistics, and resuming across restarts.',
        }),
        max_bytes: Type.Integer({
          minimum: 1_048_576,
          maximum: 1_099_511_627_776,
          description: 'Maximum size of the journal in bytes.',
        }),
        max_age_hours: Type.Number({
          minimum: 0.01,
          maximum: 87_600,
          description: 'Retention time of events in hours.',
        }),
        fsync: Type.Union(
          [Type.Literal('always'), Type.Literal('background'), Type.Literal('never')],
          {
            description:
              'When writes are forced to disk: before they are acknowledged, right after (a power failure can lose moments), or by the system (a power failure can damage the journal).',
          },
        ),
      },
      closed,
    ),
    demo: Type.Object(
      {
        enabled: Type.Boolean({ description: 'Start the demo world and its three bots.' }),
      },
      closed,
    ),
    drills: Type.Object(
      {
        enabled: Type.Boolean({
          description:
            'Enable the service command `drill`, which breaks a thread to test recovery.',
        }),
      },
      closed,
    ),
    kinds: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Additional bot kinds: directories, files or package names.',
    }),
    programs: Type.Record(Type.String({ pattern: BOT_ID.source }), ProgramDefinition, {
      ...closed,
      description:
        'Programs as kinds of bots: `{"chess": {"command": ["gnuchess", "--uci"], "protocol": "raw"}}`. See docs/STDIO.md.',
    }),
    restart: RestartPolicy,
    start: Type.Object(
      {
        bots: Type.Unsafe<'auto' | 'all' | 'safe' | 'none'>({
          type: 'string',
          enum: ['auto', 'all', 'safe', 'none'],
          description:
            'Which bots start with the service: `all` that should run, `safe`: without the up to 20 that requests started last, or `none`. `auto`: all, after three unclean ends within a minute as with `safe`, then as with `none`.',
        }),
      },
      closed,
    ),
    watchdog: Type.Object(
      {
        hang_ms: Type.Integer({
          minimum: 500,
          description:
            'A bot host or other thread whose event loop is blocked for this long, in ms, is replaced.',
        }),
      },
      closed,
    ),
    quota: Type.Object(
      {
        ...quotaLimits,
      },
      closed,
    ),
    cluster: Type.Object(
      {
        servers: Type.Array(Type.String({ minLength: 1 }), {
          description:
            'NATS servers of the cluster: `["nats://10.0.0.1:4222"]`, with `user:password@` or `tls://` where needed. Empty for a single service.',
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
            'How long a silent node keeps its bots, in ms, before others start them. NATS may be silent for three quarters of it.',
        }),
        replicas: Type.Union([Type.Integer({ minimum: 1, maximum: 5 }), Type.Null()], {
          description:
            'Copies of the stream and the buckets on NATS; null for 3 with three servers or more, else 1.',
        }),
        window_bytes: Type.Integer({
          minimum: 16_777_216,
          maximum: 1_099_511_627_776,
          description: 'Maximum size of the stream of events on NATS, compressed.',
        }),
        secret_key_file: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
          description:
            'File with the key (32 bytes in hex or base64, the same on each node) that signs what nodes send and store over NATS and encrypts secrets of bots. Further lines are keys that are still accepted (docs/SECURITY.md, "NATS"). null: nothing is signed, and bots with secrets do not move.',
        }),
        accept_unsigned: Type.Boolean({
          description:
            'With a key: also accept unsigned and otherwise signed messages, while nodes get a key or are upgraded (docs/SECURITY.md, "NATS").',
        }),
      },
      closed,
    ),
    watch: Type.Boolean({
      description:
        'Roll out a file of a kind to its bots as soon as it is saved, for development: docs/ROLLOUTS.md.',
    }),
    fleet: Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
      description:
        'Fleet file (docs/FLEET.md) that the service keeps its bots to: applied at each start, and at SIGHUP; null for none.',
    }),
    bots: Type.Array(CreateBotBody, {
      description: 'Bots to create at startup, unless the id exists.',
    }),
  },
  closed,
);

/** Keys, and objects of keys, that a running service reads again on SIGHUP. Changes of others take effect at its next start. */
export const LIVE_KEYS: readonly string[] = [
  'tls.cert',
  'tls.key',
  'hosts.isolation_by_kind',
  'hosts.starts_per_second',
  'hosts.starts_per_second_by_kind',
  'kinds',
  'programs',
  'restart',
  'quota',
  'pressure',
];

/** Every key has a default. */
export const DEFAULTS: Static<typeof Config> = {
  engine: 'auto',
  http: {
    host: '0.0.0.0',
    port: 8090,
    fronts: 1,
    max_body_bytes: 65_536,
    cors_origins: [],
    allowed_hosts: [],
    trusted_proxies: [],
    forwarded_header: 'x-forwarded-for',
    max_connections: 25_000,
    reserved_files: null,
    max_connections_per_address: 10_000,
  },
  tls: {
    cert: null,
    key: null,
    ciphers: [
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'ECDHE-RSA-AES256-GCM-SHA384',
      'ECDHE-ECDSA-CHACHA20-POLY1305',
      'ECDHE-RSA-CHACHA20-POLY1305',
    ],
    hsts_max_age_days: 180,
  },
  data_dir: null,
  auth: {
    pin: true,
    sign_in_days: 30,
  },
  stream: {
    ring_bytes: 67_108_864,
    heartbeat_ms: 15_000,
    max_streams: 20_000,
    max_streams_per_token: 5000,
  },
  hosts: {
    count: null,
    isolation: 'thread',
    isolation_by_kind: {},
    env: [],
    max_dedicated: 64,
    max_heap_mb: 2048,
    process_cpu: null,
    stop_grace_ms: 5000,
    starts_per_second: null,
    starts_per_second_by_kind: {},
    bot_lines_per_second: 50_000,
  },
  network: {
    allow: null,
  },
  invoke: {
    timeout_ms: 10_000,
  },
  log: {
    access: 'off',
  },
  pressure: {
    max_bots: 20_000,
    max_cpu: 0.98,
    max_memory_mb: null,
  },
  journal: {
    enabled: true,
    max_bytes: 1_073_741_824,
    max_age_hours: 168,
    fsync: 'background',
  },
  demo: {
    enabled: true,
  },
  drills: {
    enabled: false,
  },
  kinds: [],
  programs: {},
  restart: {
    policy: 'on-failure',
    max_restarts: 60,
    window_ms: 3_600_000,
    backoff_ms: 1000,
    backoff_cap_ms: 60_000,
    healthy_ms: 60_000,
  },
  start: {
    bots: 'auto',
  },
  watchdog: {
    hang_ms: 10_000,
  },
  quota: {
    cpu: null,
    memory_mb: null,
    lines_per_second: null,
    bytes_per_second: null,
    connections: null,
  },
  cluster: {
    servers: [],
    name: 'drover',
    node: null,
    labels: {},
    credentials: null,
    tls: {
      ca: null,
      cert: null,
      key: null,
    },
    lease_ms: 12_000,
    replicas: null,
    window_bytes: 1_073_741_824,
    secret_key_file: null,
    accept_unsigned: false,
  },
  watch: false,
  fleet: null,
  bots: [],
};

/** The configuration that the service runs with: the keys, and the fixed values. */
export type Config = Static<typeof Config> & typeof FIXED;
