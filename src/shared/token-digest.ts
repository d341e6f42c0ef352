import { createHash } from 'node:crypto';

/** The stored form of a token: SHA-256 in base64. Unsalted and fast on purpose: 384 random bits cannot be guessed. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
