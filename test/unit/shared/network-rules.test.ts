// The entries of `network.allow`.

import { describe, expect, it } from 'vitest';
import { NetworkRules } from '../../../src/shared/network-rules.js';

it('everything is allowed without a list, and nothing with an empty one', () => {
  expect(new NetworkRules(null).allows('anything.example', 1)).toBe(true);
  expect(new NetworkRules([]).allows('127.0.0.1', 80)).toBe(false);
});

it.each([
  ['the end of a zone', 'irc.example%.evil.com'],
  ['the path of a URL', 'irc.example/.evil.com'],
  ['the query of a URL', 'irc.example?.evil.com'],
  ['the fragment of a URL', 'irc.example#.evil.com'],
  ['a line break', 'irc.\nexample'],
  ['an address with a zone', '10.0.0.1%.evil.com'],
])('a name that resolvers read as another one is not allowed: %s', (_, host) => {
  const rules = new NetworkRules(['irc.example', '*.example', '10.0.0.0/8']);
  expect(rules.allows(host, 6697)).toBe(false);
});

it.each<[string, [string, number][], [string, number][]]>([
  [
    'irc.example',
    [
      ['irc.example', 6697],
      ['IRC.Example.', 1],
    ],
    [
      ['xirc.example', 6697],
      ['irc.example.evil', 6697],
      ['a.irc.example', 6697],
      ['127.0.0.1', 6697],
    ],
  ],
  ['irc.example:6697', [['irc.example', 6697]], [['irc.example', 6667]]],
  ['bücher.example', [['xn--bcher-kva.example', 443]], [['bucher.example', 443]]],
  [
    '*.example.com:443',
    [
      ['a.example.com', 443],
      ['b.a.example.com', 443],
    ],
    [
      ['example.com', 443],
      ['a.example.com', 80],
      ['aexample.com', 443],
    ],
  ],
  [
    '*:443',
    [
      ['a.example', 443],
      ['::1', 443],
      ['10.0.0.1', 443],
    ],
    [['a.example', 80]],
  ],
  [
    '10.1.0.0/15',
    [
      ['10.0.3.4', 1],
      ['10.1.255.255', 1],
      ['::ffff:10.1.2.3', 1],
      ['[::ffff:a01:203]', 1],
      // Resolvers read it as an address.
      ['10.1', 1],
    ],
    [
      ['10.2.0.0', 1],
      ['0x7f.1', 1],
      ['ten.example', 1],
      ['::10.1.0.0', 1],
    ],
  ],
  [
    '127.0.0.1:80',
    [['127.0.0.1', 80]],
    [
      ['127.0.0.2', 80],
      ['0.0.0.0', 80],
      ['localhost', 80],
    ],
  ],
  [
    '2001:db8::/32',
    [
      ['2001:db8:1::5', 1],
      ['[2001:DB8::1]', 1],
    ],
    [
      ['2001:db9::1', 1],
      ['32.1.13.184', 1],
    ],
  ],
  [
    '[fe80::1]:6697',
    [['fe80::1%eth0', 6697]],
    [
      ['fe80::1', 6667],
      ['fe80::2', 6697],
    ],
  ],
  [
    '::1',
    [
      ['::1', 1],
      ['0:0:0:0:0:0:0:1', 2],
    ],
    [['127.0.0.1', 1]],
  ],
  [
    '0.0.0.0/0',
    [['8.8.8.8', 53]],
    [
      ['::1', 53],
      ['dns.example', 53],
    ],
  ],
])('%s', (entry, allowed, refused) => {
  const rules = new NetworkRules([entry]);
  for (const [host, port] of allowed)
    expect([host, rules.allows(host, port)]).toEqual([host, true]);
  for (const [host, port] of refused)
    expect([host, rules.allows(host, port)]).toEqual([host, false]);
});

describe('an entry that is wrong is named', () => {
  it.each([
    '',
    'irc.example:0',
    'irc.example:65536',
    'irc.example:',
    'http://irc.example',
    'irc.example/24',
    'a b',
    '*.',
    'a.*.example',
    '10.0.0.0/33',
    '10.0.0.0/',
    '::1/129',
    '[::1',
    'a:b:c',
  ])('%j', (entry) => {
    expect(() => new NetworkRules(['*', entry])).toThrow(
      `${JSON.stringify(entry)} is no host, *.domain, address or network, with or without a port`,
    );
  });
});

it('colons without an end are read once: cubed, it would not end', () => {
  expect(() => new NetworkRules([`${':'.repeat(100_000)}x`])).toThrow('is no host');
});
