// Test harness of the fuzz tests. Owns one misbehaving connection, and checks what the service sends on it.

import net from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { parseResponse } from '../harness/http.js';
import type { Case } from './cases.js';

/** The service closes half-closed connections at once, and silent ones after 12 s. This only ends a hang. */
const CLOSED_WITHIN_MS = 40_000;
/** How long a client waits for a response that may never arrive, because its request is incomplete. */
const PATIENCE_MS = 40;
/** Statuses that no invalid request may cause. */
const FAULTS = new Set([500, 502, 504]);

/** How a case is sent: plain, within TLS, or plain to a TLS port. */
export type Way = 'plain' | 'tls' | 'plain to tls';

/**
 * Sends a case.
 * @returns whether it got any response. @throws Error when the service keeps the connection open or sends a forbidden response.
 */
export async function attack(
  port: number,
  { pieces, ending }: Case,
  way: Way = 'plain',
): Promise<boolean> {
  const wire = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const socket = way === 'tls' ? encrypted(wire) : wire;
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    // A stream has no end, so its first bytes are enough.
    if (received.length < 1_000_000) received = Buffer.concat([received, chunk]);
  });
  // A client that breaks the protocol may be reset.
  socket.on('error', () => {});
  // Not events.once(): it rejects on a reset.
  const when = (event: 'connect' | 'secureConnect' | 'data' | 'close'): Promise<void> =>
    new Promise((resolve) => socket.once(event, () => resolve()));
  const closed = when('close');
  // The peer has ended. With allowHalfOpen, this side must end too.
  socket.on('end', () => socket.end());
  try {
    await Promise.race([when(way === 'tls' ? 'secureConnect' : 'connect'), closed]);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await sleep(1);
      if (socket.destroyed || socket.writableEnded) break;
      socket.write(piece);
    }
    if (ending === 'reset') {
      wire.resetAndDestroy();
    } else if (ending === 'half') {
      socket.end();
      await Promise.race([closed, late()]);
    } else {
      await Promise.race([closed, when('data'), sleep(PATIENCE_MS)]);
    }
  } finally {
    socket.destroy();
    wire.destroy();
  }
  if (way === 'plain to tls') {
    if (received.includes('HTTP/')) throw new Error('answered in the clear on a port for TLS');
    return received.length > 0;
  }
  checkAnswers(
    received,
    pieces.some((piece) => piece.includes('HEAD ')),
  );
  return received.length > 0;
}

/** Next to the connection instead of on it: Node 20 crashes on the reset of a socket that a TLS socket wraps. */
function encrypted(wire: net.Socket): tls.TLSSocket {
  const between = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      wire.write(chunk);
      done();
    },
    final: (done) => {
      wire.end();
      done();
    },
  });
  between.on('error', () => {});
  wire
    .on('data', (chunk: Buffer) => between.push(chunk))
    .on('end', () => between.push(null))
    .on('error', () => {})
    .on('close', () => between.destroy());
  return tls.connect({ socket: between, rejectUnauthorized: false });
}

async function late(): Promise<never> {
  await sleep(CLOSED_WITHIN_MS, undefined, { ref: false });
  throw new Error('the service does not close the connection');
}

/**
 * The response of uWebSockets.js itself to unreadable input, before it closes the connection. It can also come in the
 * middle of an open stream on the same connection (docs/ENGINES.md).
 */
const OWN_ERROR =
  /HTTP\/1\.1 (?:400|431|505) [\w ]+\r\nConnection: close\r\n\r\n<h1>.*<i>uWebSockets\/20 Server<\/i>$/;

/** The received bytes must be HTTP from the first byte, without a server error. */
function checkAnswers(received: Buffer, withHead: boolean): void {
  const own = OWN_ERROR.exec(received.toString('latin1'))?.index;
  let rest = received.subarray(0, own);
  while (rest.length > 0) {
    const parsed = parseResponse(rest, true, withHead);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest.toString('latin1', 0, 20))?.[1]);
    // A partial status line, when the connection was cut at that point.
    if (Number.isNaN(status) && rest.length >= 13) {
      throw new Error(`this is not a response: ${JSON.stringify(rest.toString('latin1', 0, 200))}`);
    }
    if (FAULTS.has(status)) {
      throw new Error(`answered ${JSON.stringify(rest.toString('latin1', 0, 300))}`);
    }
    // The response to a HEAD announces a body that does not follow. The rest is not checked.
    if (!parsed || withHead) return;
    rest = rest.subarray(parsed.length);
  }
}
