// Pure; used by main and the fronts. Owns what is kept of a token and what it is looked up by.

import { createHash } from 'node:crypto';

/** SHA-256 in base64. Unsalted and fast on purpose: a token is 384 random bits, there is nothing to guess. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('base64');
}
