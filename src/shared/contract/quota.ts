// The rules of quotas that a schema cannot hold. Loads no TypeBox.

import { USAGE_NAMES, type UsageName } from './usage.js';

/** A number is a hard one. */
export type QuotaLimit = number | { soft?: number | undefined; hard?: number | undefined } | null;
export type Quota = { [name in UsageName]?: QuotaLimit | undefined };

export interface Limits {
  soft: number;
  hard: number;
}

/** The limits of one bot: those of its quota, else those of the service's. Infinite where neither has one. */
export function limitsOf(name: UsageName, own: Quota | undefined, service: Quota): Limits {
  const given = own?.[name] === undefined ? service[name] : own[name];
  const { soft, hard } =
    typeof given === 'number' ? { soft: undefined, hard: given } : (given ?? {});
  return { soft: soft ?? Number.POSITIVE_INFINITY, hard: hard ?? Number.POSITIVE_INFINITY };
}

/** The fault of a quota; null when it is valid. */
export function quotaFault(quota: Quota): string | null {
  for (const name of USAGE_NAMES) {
    const { soft, hard } = limitsOf(name, quota, {});
    if (soft > hard && soft !== Number.POSITIVE_INFINITY) {
      return `quota.${name}: soft (${soft}) must not be above hard (${hard})`;
    }
  }
  return null;
}
