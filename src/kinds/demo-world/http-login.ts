// Runs in the demo world's thread. Owns the HTTP login and its tickets.

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '../../shared/errors.js';

/** Letters, digits, dots, dashes and underscores: a comma separates names in `Players`. */
const PLAYER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A longer body is answered 400 and the connection closed. */
const MAX_BODY_BYTES = 1024;

const TICKET_LIFE_MS = 30_000;

/** Tickets not yet used or expired. While as many are outstanding, a login is answered 503. */
const MAX_TICKETS = 20_000;

/** Tickets that were given out over HTTP and wait for their `Login` on TCP. Each is valid once, for one name. */
export class Tickets {
  /** In the order of issue, which is also that of expiry. */
  readonly #issued = new Map<string, { name: string; expiresAt: number }>();
  readonly #now: () => number;

  /** @param now clock in milliseconds that never runs backwards */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A new ticket, or undefined while too many are outstanding. */
  issue(name: string): string | undefined {
    const now = this.#now();
    for (const [ticket, { expiresAt }] of this.#issued) {
      if (expiresAt > now) break;
      this.#issued.delete(ticket);
    }
    if (this.#issued.size >= MAX_TICKETS) return undefined;
    const ticket = randomBytes(24).toString('base64url');
    this.#issued.set(ticket, { name, expiresAt: now + TICKET_LIFE_MS });
    return ticket;
  }

  /** Removes the ticket, also when it is not valid for this name. */
  redeem(ticket: string, name: string): boolean {
    const found = this.#issued.get(ticket);
    this.#issued.delete(ticket);
    return found !== undefined && found.name === name && found.expiresAt > this.#now();
  }
}

/**
 * `POST /login` with `{name}` is answered with `{ticket, host, port}`.
 * @param tcpAddress where the tickets can be used
 */
export function createLoginServer(
  tickets: Tickets,
  tcpAddress: { host: string; port: number },
): Server {
  // requestTimeout bounds how long a body may take to arrive, headersTimeout the time before it.
  return createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    if (request.url?.split('?', 1)[0] !== '/login') {
      reply(response, 404, { error: 'not found' });
    } else if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      reply(response, 405, { error: 'method not allowed' });
    } else {
      void login(request, response);
    }
  });

  async function login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let name: string;
    try {
      name = playerName(await readBody(request));
    } catch (error) {
      // The rest of the body is not read.
      response.setHeader('connection', 'close');
      reply(response, 400, { error: messageOf(error) });
      return;
    }
    const ticket = tickets.issue(name);
    if (ticket === undefined) reply(response, 503, { error: 'too many logins at once' });
    else reply(response, 200, { ticket, ...tcpAddress });
  }
}

/** @throws Error when the body is too large or the client goes away. */
function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Events instead of `for await`, which would destroy the connection before the answer is written.
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BODY_BYTES) chunks.push(chunk);
      else reject(new Error('the request body is too large'));
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}

/** @throws Error when the body is not JSON or holds no valid name. */
function playerName(body: string): string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new Error('the request body is not JSON');
  }
  const name =
    typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
  if (typeof name !== 'string' || !PLAYER_NAME.test(name)) {
    throw new Error('name must be 1 to 64 letters, digits, dots, dashes or underscores');
  }
  return name;
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
