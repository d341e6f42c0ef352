// What a bot host process and the relay in the service send each other: frames of a channel and bytes.
//
//   | length of the bytes, u32 | channel, u32 | bytes |     both numbers little-endian
//
// A channel is a stream of messages, as a MessagePort is one. The bytes are one message as JSON: the service believes no process, and
// of all formats its parser makes the least of hostile bytes. On a channel for events it is a batch (event-text.ts). No bytes: the
// sender has closed the channel.

/** The host's own Rpc with main. */
export const CONTROL = 0;
/** What the two ends tell each other: the start, and how the host's task has ended. */
export const LINK = 1;
/** Channels from here on are opened by the relay, and take the place of a MessagePort. */
export const FIRST_PORT = 2;

export const HEADER_BYTES = 8;

/** Kept here before a kind can replace them. */
const { parse, stringify } = JSON;

/**
 * Values without a JSON form (undefined, a function) are left out. @throws TypeError for a BigInt, and for what refers
 * to itself.
 */
export function packMessage(message: unknown): Uint8Array {
  return Buffer.from(stringify(message));
}

/** @throws SyntaxError for bytes that are not one message. */
export function unpackMessage(bytes: Uint8Array): unknown {
  return parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
}

export function header(channel: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(HEADER_BYTES);
  head.writeUInt32LE(length, 0);
  head.writeUInt32LE(channel, 4);
  return head;
}
