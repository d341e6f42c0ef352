import type { CreateTokenBody, Reach, TokenRecord } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';

/** What a token is for, without what identifies it and who made it. */
export type TokenSpec = Omit<TokenRecord, 'id' | 'digest' | 'created_at_ms' | 'created_by'>;

/** Of a valid body. @throws DroverError `bad_request` for an invalid combination. */
export function tokenSpec(body: CreateTokenBody): TokenSpec {
  const { name, scopes, expires_at_ms = null } = body;
  const reach = reachOf(body);
  if (expires_at_ms !== null && expires_at_ms <= Date.now()) {
    throw new DroverError('bad_request', 'expires_at_ms is in the past');
  }
  return { name, by_pin: false, scopes, reach, expires_at_ms };
}

function reachOf({ scopes, bots, labels }: CreateTokenBody): Reach {
  if (bots && labels) throw new DroverError('bad_request', 'give bots or labels, not both');
  if (!bots && !labels) return null;
  // It could create itself a token without the limit.
  if (scopes.includes('admin')) {
    throw new DroverError('bad_request', 'a token with the scope admin cannot be limited to bots');
  }
  return bots ? { bots } : { labels: labels ?? {} };
}
