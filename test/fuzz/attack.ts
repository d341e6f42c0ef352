// Test harness of the fuzz tests. Owns one connection that misbehaves, and what may come back on it.

import net from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { parseResponse } from '../harness/http.js';
import type { Case } from './cases.js';

/** The service closes what is half closed at once, and what is silent after 12 s; this only ends a hang. */
const CLOSED_WITHIN_MS = 40_000;
/** How long a client waits for an answer that may never come, because its request is not whole. */
const PATIENCE_MS = 40;
/** Statuses that no request brings about by being wrong. */
const FAULTS = new Set([500, 502, 504]);

/** How a case travels: as it is, within TLS, or as it is to a port where TLS is spoken. */
export type Way = 'plain' | 'tls' | 'plain to tls';

/**
 * Sends a case.
 * @returns whether it got any answer. @throws Error when the service leaves the connection open, or says what it must not say.
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
    // A stream has no end; what it sends first is enough.
    if (received.length < 1_000_000) received = Buffer.concat([received, chunk]);
  });
  // A client that breaks the protocol may be reset.
  socket.on('error', () => {});
  // Not events.once(): it rejects at the error of a reset.
  const when = (event: 'connect' | 'secureConnect' | 'data' | 'close'): Promise<void> =>
    new Promise((resolve) => socket.once(event, () => resolve()));
  const closed = when('close');
  // The peer has ended; allowHalfOpen leaves the rest to us.
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

/** Beside the connection, not on it: Node 20 crashes when a socket is reset that a TLS socket has taken over. */
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
 * What uWebSockets.js says by itself when it cannot read what comes, and then closes; also in the middle of a stream
 * that the client has open on the same connection (docs/ENGINES.md).
 */
const OWN_ERROR =
  /HTTP\/1\.1 (?:400|431|505) [\w ]+\r\nConnection: close\r\n\r\n<h1>.*<i>uWebSockets\/20 Server<\/i>$/;

/** What came must be HTTP from the first byte on, and nothing must have broken. */
function checkAnswers(received: Buffer, withHead: boolean): void {
  const own = OWN_ERROR.exec(received.toString('latin1'))?.index;
  let rest = received.subarray(0, own);
  while (rest.length > 0) {
    const parsed = parseResponse(rest, true, withHead);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(rest.toString('latin1', 0, 20))?.[1]);
    // A piece of a status line, when the connection was cut just there.
    if (Number.isNaN(status) && rest.length >= 13) {
      throw new Error(`this is no answer: ${JSON.stringify(rest.toString('latin1', 0, 200))}`);
    }
    if (FAULTS.has(status)) {
      throw new Error(`answered ${JSON.stringify(rest.toString('latin1', 0, 300))}`);
    }
    // The answer to a HEAD tells of a body that does not come; what is behind it is not looked at.
    if (!parsed || withHead) return;
    rest = rest.subarray(parsed.length);
  }
}
