// TLS handshakes as old or careless clients begin them. The message is written by hand, because no TLS library of today offers
// what a service must refuse.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

export const TLS_1_1 = 0x0302;
export const TLS_1_2 = 0x0303;

const HANDSHAKE = 22;
const ALERT = 21;
/** ServerHello: record header, handshake header, version, random, then the length of the session id. */
const VERSION_AT = 9;
const SESSION_AT = 43;
const ENOUGH = SESSION_AT + 1 + 32 + 2;

const u16 = (...values: number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]));
const sized = (bytes: Buffer): Buffer => Buffer.concat([u16(bytes.length), bytes]);
const extension = (type: number, body: Buffer): Buffer => Buffer.concat([u16(type), sized(body)]);

const EXTENSIONS = Buffer.concat([
  // Curves X25519, P-256, P-384; uncompressed points.
  extension(10, sized(u16(0x001d, 0x0017, 0x0018))),
  extension(11, Buffer.from([1, 0])),
  // Signatures: ECDSA, RSA-PSS and RSA with SHA-256, then RSA with SHA-1.
  extension(13, sized(u16(0x0403, 0x0804, 0x0401, 0x0201))),
]);

function clientHello(version: number, ciphers: readonly number[]): Buffer {
  const noSession = Buffer.from([0]);
  const noCompression = Buffer.from([1, 0]);
  const body = Buffer.concat([
    u16(version),
    randomBytes(32),
    noSession,
    sized(u16(...ciphers)),
    noCompression,
    sized(EXTENSIONS),
  ]);
  const message = Buffer.concat([Buffer.from([1, 0]), sized(body)]);
  return Buffer.concat([Buffer.from([HANDSHAKE, 3, 1]), sized(message)]);
}

/** Offers ciphers, by their numbers. @returns the version and the cipher that the service chooses. */
export async function negotiate(
  port: number,
  version: number,
  ciphers: readonly number[],
): Promise<[version: number, cipher: number] | 'refused'> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(clientHello(version, ciphers));
    let received = Buffer.alloc(0);
    for await (const part of socket) {
      received = Buffer.concat([received, part as Buffer]);
      if (received[0] === ALERT) return 'refused';
      if (received.length < ENOUGH) continue;
      const cipherAt = SESSION_AT + 1 + received.readUInt8(SESSION_AT);
      return [received.readUInt16BE(VERSION_AT), received.readUInt16BE(cipherAt)];
    }
    return 'refused';
  } finally {
    socket.destroy();
  }
}

/** The version that a client of today and the service agree on. */
export async function protocolOf(port: number): Promise<string | null> {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const protocol = socket.getProtocol();
  socket.destroy();
  return protocol;
}
