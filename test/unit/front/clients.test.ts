import { describe, expect, it } from 'vitest';
import { Clients } from '../../../src/front/requests/clients.js';
import { Networks } from '../../../src/shared/contract/networks.js';

const PROXIES = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8'];

type Header = 'forwarded' | 'x-forwarded-for';

function clientOf(
  header: Header,
  address: string,
  lines: Record<string, string[]>,
  trusted = PROXIES,
): string {
  const clients = new Clients(new Networks(trusted), header, 'http');
  const client = clients.of({ address, headers: (name) => lines[name] ?? [] });
  return `${client.scheme} ${client.address}`;
}

describe('X-Forwarded-For', () => {
  const of = (address: string, lines: string[], schemes: string[] = []): string =>
    clientOf('x-forwarded-for', address, {
      'x-forwarded-for': lines,
      'x-forwarded-proto': schemes,
      forwarded: ['for=9.9.9.9;proto=https'],
    });

  it.each([
    ['10.0.0.1', ['203.0.113.7'], [], 'http 203.0.113.7'],
    ['10.0.0.1', ['203.0.113.7'], ['https'], 'https 203.0.113.7'],
    // The last proxy has added its own behind those of the client.
    ['10.0.0.1', ['1.1.1.1, 203.0.113.7'], ['https, http'], 'http 203.0.113.7'],
    ['10.0.0.1', ['1.1.1.1', '203.0.113.7'], ['http', 'https'], 'https 203.0.113.7'],
    // Several proxies.
    ['127.0.0.1', ['1.1.1.1, 203.0.113.7, 10.2.3.4,fd00::1'], [], 'http 203.0.113.7'],
    ['10.0.0.1', ['10.1.1.1'], [], 'http 10.1.1.1'],
    // Ports, IPv6, an engine's long notation.
    ['10.0.0.1', ['203.0.113.7:4711'], [], 'http 203.0.113.7'],
    ['10.0.0.1', ['[2001:db8::7]:4711'], [], 'http 2001:db8::7'],
    ['fd00:0000:0000:0000:0000:0000:0000:0009', ['2001:db8::7'], [], 'http 2001:db8::7'],
    ['::ffff:127.0.0.1', ['203.0.113.7'], [], 'http 203.0.113.7'],
    // What is not an address stands for nobody: the proxy that reports it counts.
    ['127.0.0.1', ['203.0.113.7, unknown, 10.0.0.9'], [], 'http 10.0.0.9'],
    ['127.0.0.1', ['wrong\x1b[31m'], ['gopher'], 'http 127.0.0.1'],
    ['127.0.0.1', [''], ['HTTPS'], 'https 127.0.0.1'],
    ['127.0.0.1', [], ['https'], 'https 127.0.0.1'],
    // From others it means nothing.
    ['203.0.113.1', ['10.0.0.1'], ['https'], 'http 203.0.113.1'],
    ['11.0.0.1', ['203.0.113.7'], ['https'], 'http 11.0.0.1'],
  ])('from %s: %s %s', (address, lines, schemes, client) => {
    expect(of(address, lines, schemes)).toBe(client);
  });

  it('is not read without trusted proxies', () => {
    const lines = { 'x-forwarded-for': ['203.0.113.7'] };
    expect(clientOf('x-forwarded-for', '127.0.0.1', lines, [])).toBe('http 127.0.0.1');
  });
});

describe('Forwarded', () => {
  const of = (address: string, lines: string[]): string =>
    clientOf('forwarded', address, {
      forwarded: lines,
      'x-forwarded-for': ['9.9.9.9'],
      'x-forwarded-proto': ['https'],
    });

  it.each([
    ['10.0.0.1', ['for=203.0.113.7'], 'http 203.0.113.7'],
    ['10.0.0.1', ['For="[2001:db8::7]:4711";proto=https;by=10.0.0.1'], 'https 2001:db8::7'],
    [
      '10.0.0.1',
      ['for=1.1.1.1;proto=https, for=203.0.113.7 ; host="a,b;c=\\"d"'],
      'http 203.0.113.7',
    ],
    ['10.0.0.1', ['for=203.0.113.7;proto=https, for=10.0.0.2;proto=http'], 'https 203.0.113.7'],
    ['10.0.0.1', ['for=1.1.1.1', 'for=203.0.113.7'], 'http 203.0.113.7'],
    // The client's quote must not swallow what the proxy has added.
    ['10.0.0.1', ['for="1.1.1.1', 'for=203.0.113.7'], 'http 203.0.113.7'],
    ['10.0.0.1', ['for="1.1.1.1, for=203.0.113.7'], 'http 10.0.0.1'],
    ['10.0.0.1', ['for=_hidden;proto=https'], 'https 10.0.0.1'],
    ['10.0.0.1', ['proto=https'], 'https 10.0.0.1'],
    ['10.0.0.1', [], 'http 10.0.0.1'],
    ['203.0.113.1', ['for=10.0.0.1'], 'http 203.0.113.1'],
  ])('from %s: %s', (address, lines, client) => {
    expect(of(address, lines)).toBe(client);
  });

  it('a line that cannot be read takes no longer than one that can', () => {
    // With quadratic time, most of a minute.
    expect(of('10.0.0.1', [`for=1.1.1.1;${' '.repeat(200_000)}@`])).toBe('http 10.0.0.1');
  });
});
