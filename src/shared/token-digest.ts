import { createHash, randomBytes } from 'node:crypto';

/** Bytes of a token (docs/INTERFACE.md §2.2). */
const TOKEN_BYTES = 48;

export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64');
}

/** The stored form of a token: SHA-256 in base64. Unsalted and fast on purpose: 384 random bits cannot be guessed. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
