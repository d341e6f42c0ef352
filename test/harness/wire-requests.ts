// Ten real requests, whose bytes tests cut into segments, and a client that cuts them exactly there.

import { RawConnection, requestBytes } from './http.js';

/** A request, as a client of the service sends it. */
export interface WireRequest {
  bytes: Buffer;
  status: number;
  /** It opens a stream, which has no end. */
  isStream?: boolean;
  isHead?: boolean;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };
/** Longer than one segment on most networks, and than two. */
const LONG_URLS = [2193, 3693];

/** @param token of a reader and operator of the service. No request changes anything that another one sees. */
export function wireRequests(token: string): Record<string, WireRequest> {
  const bearer = { Authorization: `Bearer ${token}` };
  const selection = (bytes: number): WireRequest => {
    const target = `/api/bots?kind=${'some-kind,'.repeat(bytes / 10)}`.slice(0, bytes);
    return { bytes: requestBytes('GET', target, bearer), status: 200 };
  };
  const [longer = 0, longest = 0] = LONG_URLS;
  const invoke = JSON.stringify({
    session_id: null,
    command: 'ping',
    args: { note: 'n'.repeat(4000) },
  });
  return {
    'GET /health': { bytes: requestBytes('GET', '/health'), status: 200 },
    'GET /events with the token in the query': {
      bytes: requestBytes('GET', `/events?token=${encodeURIComponent(token)}&event=session`),
      status: 200,
      isStream: true,
    },
    [`a URL of ${longer} bytes`]: selection(longer),
    [`a URL of ${longest} bytes`]: selection(longest),
    'POST /auth/pin': {
      bytes: requestBytes('POST', '/auth/pin', JSON_TYPE, '{"pin":"wrong"}'),
      status: 401,
    },
    'POST /invoke with 4 KB': {
      bytes: requestBytes('POST', '/invoke', { ...bearer, ...JSON_TYPE }, invoke),
      status: 200,
    },
    'HEAD /api/bots': {
      bytes: requestBytes('HEAD', '/api/bots', bearer),
      status: 200,
      isHead: true,
    },
    'OPTIONS /api/bots': { bytes: requestBytes('OPTIONS', '/api/bots'), status: 204 },
    'DELETE /api/bots/{id}': {
      bytes: requestBytes('DELETE', '/api/bots/no-such', bearer),
      status: 404,
    },
    'PATCH /api/bots/{id}': {
      bytes: requestBytes(
        'PATCH',
        '/api/bots/no-such',
        { ...bearer, ...JSON_TYPE },
        '{"labels":{}}',
      ),
      status: 404,
    },
  };
}

/** What is sent on a connection, piece by piece. */
export interface Cut {
  connection: RawConnection;
  pieces: readonly Buffer[];
}

/** Sends pieces so that the service reads each of them separately. */
export class Cutter {
  readonly #port: number;
  readonly #beside: RawConnection;
  /** Connections on which the last request was answered. */
  readonly #idle: RawConnection[] = [];

  private constructor(port: number, beside: RawConnection) {
    this.#port = port;
    this.#beside = beside;
  }

  static async open(port: number): Promise<Cutter> {
    return new Cutter(port, await RawConnection.open(port));
  }

  /**
   * Resolves when the front has read all that was sent before. It reads its sockets in turns of one event loop: a response to
   * what was sent later can come in the same turn, before the rest of it, but not the response to a second request.
   */
  async settled(): Promise<void> {
    for (let n = 0; n < 2; n++) {
      await this.#beside.send(requestBytes('GET', '/health'));
      await this.#beside.response();
    }
  }

  /** Sends piece after piece, on all connections at the same time. */
  async send(all: readonly Cut[]): Promise<void> {
    const most = Math.max(...all.map(({ pieces }) => pieces.length));
    for (let at = 0; at < most; at++) {
      if (at > 0) await this.settled();
      for (const { connection, pieces } of all) {
        const piece = pieces[at];
        if (piece) await connection.send(piece);
      }
    }
  }

  /**
   * Sends each request in its pieces, on a connection on which another one was answered before.
   * @returns the statuses of the responses, undefined for a connection that was closed without one.
   */
  async statuses(
    cuts: readonly { request: WireRequest; pieces: readonly Buffer[] }[],
  ): Promise<(number | undefined)[]> {
    const all = await Promise.all(
      cuts.map(async (cut) => ({ ...cut, connection: await this.#used() })),
    );
    await this.send(all);
    return Promise.all(
      all.map(async ({ connection, request: { status, isStream = false, isHead = false } }) => {
        try {
          // Of a stream the head alone.
          const answer = await connection.response({ head: isHead || isStream });
          if (answer.status === status && !isStream) this.#idle.push(connection);
          else connection.close();
          return answer.status;
        } catch {
          connection.close();
          return undefined;
        }
      }),
    );
  }

  /** A connection on which a request was answered already. */
  async #used(): Promise<RawConnection> {
    const idle = this.#idle.pop();
    if (idle) return idle;
    const connection = await RawConnection.open(this.#port);
    await connection.send(requestBytes('GET', '/health'));
    await connection.response();
    return connection;
  }

  close(): void {
    for (const connection of [this.#beside, ...this.#idle]) connection.close();
  }
}
