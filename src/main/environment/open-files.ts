// Runs in main. Fits the configured maxima to the files that this process may open: each connection is one. Above the system's
// limit a connection can be neither accepted nor refused, and uWebSockets.js tries to accept it again and again.

import type { Config } from '../../shared/contract/config.js';

/** Open files of the service itself: the store, the journal, the configured files. */
const OWN_FILES = 32;
/** Open files of a thread: its event loop and pipes. */
const FILES_PER_THREAD = 8;
/** Threads beside fronts and hosts: main, broadcaster, journal, demo world. */
const OTHER_THREADS = 4;
/** Reserved for connections of bots, dedicated hosts, and files that are opened for a moment, unless it is configured. */
const RESERVED_SHARE = 1 / 4;
const MIN_RESERVED = 64;
/** The share of lowered connections that streams may take. The rest is for requests. */
const STREAMS_SHARE = 4 / 5;

/** @param cores of the machine. @param files that may be open, null when that is unknown. */
export function fitToOpenFiles(
  config: Config,
  cores: number,
  files: number | null,
): { config: Config; warning: string | null } {
  const { http, stream } = config;
  const connections =
    files === null ? Number.POSITIVE_INFINITY : connectionsFor(config, cores, files);
  if (http.max_connections <= connections) return { config, warning: null };
  const streams = Math.min(
    stream.max_streams,
    Math.max(1, Math.floor(connections * STREAMS_SHARE)),
  );
  const fitted = {
    ...config,
    http: {
      ...http,
      max_connections: connections,
      max_connections_per_address: scaled(
        http.max_connections_per_address,
        http.max_connections,
        connections,
      ),
    },
    stream: {
      ...stream,
      max_streams: streams,
      max_streams_per_token: scaled(stream.max_streams_per_token, stream.max_streams, streams),
    },
  };
  const lowered = [
    ...differences('http', http, fitted.http),
    ...differences('stream', stream, fitted.stream),
  ].map(
    ([name, before, after], at) => `${name}${at === 0 ? ' is' : ''} ${after} instead of ${before}`,
  );
  const warning =
    `only ${files} files can be open: ${lowered.join(', ')}; ` +
    'raise the limit (ulimit -n, LimitNOFILE=)';
  return { config: fitted, warning };
}

function differences<T extends object>(
  part: string,
  before: T,
  after: T,
): [string, unknown, unknown][] {
  const names = Object.keys(after) as (keyof T & string)[];
  return names
    .filter((name) => after[name] !== before[name])
    .map((name) => [`${part}.${name}`, before[name], after[name]]);
}

function connectionsFor({ http, hosts }: Config, cores: number, files: number): number {
  const threads = http.fronts + (hosts.count ?? cores) + OTHER_THREADS;
  const reserved = Math.max(MIN_RESERVED, http.reserved_files ?? files * RESERVED_SHARE);
  const left = files - OWN_FILES - FILES_PER_THREAD * threads - reserved;
  return Math.max(1, Math.floor(Math.max(left, files * RESERVED_SHARE)));
}

/** Scales a limit: its share of `to` is what its share of `from` was. */
function scaled(limit: number, from: number, to: number): number {
  return Math.max(1, Math.floor((Math.min(limit, from) * to) / from));
}
