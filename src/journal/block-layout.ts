// The layout of a block: a run of frames as they were on the ring, and the index fields of each, in one piece of memory that
// is one LMDB value.
//
//   0        64                                                                            dataAt
//   +--------+----------+-----------+------------+------------+----------+----------+------+--------------------+
//   | header | ends     | times     | sessions   | scopes     | session  | scope    | kind | frames, one behind |
//   |        | u32 x n  | u32 x n   | 2 u32 x s  | 2 u32 x c  | u16 x n  | u16 x n  | u8 xn| the other          |
//   +--------+----------+-----------+------------+------------+----------+----------+------+--------------------+
//
// header: u32 magic, n, bytes of frames, s, c, levels (bit set), kinds (bit set), time of writing (Unix epoch seconds by
// steady-clock.ts; 0 for unknown); f64 first sequence number, lowest time, highest
// time, clock (the highest time in the journal up to here), in Unix epoch milliseconds.
// Its row in the table of blocks is compressed (block-packer.ts). Its row in the table of heads is the header, then a u32: the
// CRC-32 of the row in the table of blocks. Rows written before there was a CRC have only the header.
//
// `ends` counts from the first frame's first byte, `times` from the lowest time. The sessions and scopes of a block are a
// table of their hashes; the first entry, 0 and 0, is "none". `kind` holds the kind in its low 4 bits, the level above.

export const MAGIC = 0x314a7244;
export const HEADER_BYTES = 64;
/** Bytes of a head's row with its CRC. */
export const HEAD_ROW_BYTES = HEADER_BYTES + 4;
/** Names in a block's table, and frames in a block, at most: an index is 16 bits. */
export const MAX_BLOCK_FRAMES = 4096;

/** Where each part begins, in bytes. @param sessions, scopes lengths of the tables of names. */
export function layout(count: number, sessions: number, scopes: number) {
  const endsAt = HEADER_BYTES;
  const timesAt = endsAt + 4 * count;
  const sessionsAt = timesAt + 4 * count;
  const scopesAt = sessionsAt + 8 * sessions;
  const sessionAt = scopesAt + 8 * scopes;
  const kindAt = sessionAt + 4 * count;
  return { endsAt, timesAt, sessionsAt, scopesAt, sessionAt, kindAt, dataAt: kindAt + count };
}
