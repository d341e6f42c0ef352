// What a token is, in words.

import type { TokenInfo } from '../../client/index.js';

/** The bots that it is limited to; '' for all. */
export function limitText({ bots, labels }: Pick<TokenInfo, 'bots' | 'labels'>): string {
  const pairs = Object.entries(labels ?? {}).map((pair) => pair.join('='));
  return (bots ?? pairs).join(',');
}

/** `Firefox on Linux, 192.0.2.7`; `-` when it is not known. */
export function clientText({ last_used_from: from }: Pick<TokenInfo, 'last_used_from'>): string {
  if (from === null) return '-';
  return from.client === null ? from.address : `${from.client}, ${from.address}`;
}

export function creatorText({ created_by: by }: Pick<TokenInfo, 'created_by'>): string {
  if (by === null) return '-';
  const from = by.address === null ? '' : `, from ${by.address}`;
  const named = `token ${JSON.stringify(by.name ?? by.token)}`;
  switch (by.how) {
    case 'pin':
      return `the PIN${from}`;
    case 'token':
      return `${named}${from}`;
    case 'link':
      return `a sign-in link of ${named}${from}`;
    case 'data_dir':
      return 'drover tokens create --data-dir';
  }
}
