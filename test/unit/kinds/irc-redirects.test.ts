// Which keys of an irc bot decide where its passwords go.

import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { redirectedSecrets } from '../../../src/shared/contract/secrets.js';
import irc from '../../../workers/kinds/irc.js';

const before: JsonObject = {
  host: 'irc.example',
  port: 6697,
  tls: true,
  tls_verify: true,
  nick: 'anna',
  username: 'drover',
  realname: 'Drover bot',
  password: 'of-the-server',
  sasl: { account: 'anna', password: 'of-anna' },
  channels: [],
  reconnect: { attempts: 10, wait_ms: 1000, max_wait_ms: 60_000 },
};

it('its host, port and TLS; nothing else', () => {
  const others: JsonObject = {
    ...Object.fromEntries(Object.keys(before).map((key) => [key, 'another'])),
    sasl: { account: 'bert', password: 'of-bert' },
  };
  const redirecting = Object.entries(others)
    .filter(([key, value]) => {
      const after = { ...before, [key]: value };
      const change = { [key]: value };
      return (
        redirectedSecrets({ before, after, stored: after, change }, irc.config).keys.length > 0
      );
    })
    .map(([key]) => key);
  expect(redirecting).toEqual(['host', 'port', 'tls', 'tls_verify']);
});
