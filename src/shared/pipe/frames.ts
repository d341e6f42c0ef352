// What a bot host process and the relay in the service send each other: frames of a channel and bytes.
//
//   | length of the bytes, u32 | channel, u32 | bytes |     both numbers little-endian
//
// A channel is a stream of messages, as a MessagePort is one. The bytes are one msgpackr document, except on a channel for
// events: there they are a batch as contract/batch.ts packs it, which nobody on the way unpacks. No bytes: the sender has closed
// the channel.

import { Packr } from '../contract/packr.js';

/** The host's own Rpc with main. */
export const CONTROL = 0;
/** What the two ends tell each other: the start, and how the host's task has ended. */
export const LINK = 1;
/** Channels from here on are opened by the relay, and take the place of a MessagePort. */
export const FIRST_PORT = 2;

export const HEADER_BYTES = 8;

// Maps instead of records: each message is decoded by itself, and most are small.
const packr = new Packr({ useRecords: false });

/** @throws Error for what cannot be packed: a function, a symbol. */
export function packMessage(message: unknown): Uint8Array {
  return packr.pack(message);
}

/** @throws Error for bytes that are not one message. */
export function unpackMessage(bytes: Uint8Array): unknown {
  return packr.unpack(bytes);
}

export function header(channel: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(HEADER_BYTES);
  head.writeUInt32LE(length, 0);
  head.writeUInt32LE(channel, 4);
  return head;
}
