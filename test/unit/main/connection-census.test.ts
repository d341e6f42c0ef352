// Connections per address, from the system's tables.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { endianness } from 'node:os';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { crowdedOf } from '../../../src/main/threads/connection-census.js';
import { Networks } from '../../../src/shared/contract/networks.js';
import { skipWithout } from '../../harness/needs.js';

const LISTEN = '0A';
const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid';
const line = (local: string, remote: string, state: string): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  0 0 12345 1`;

describe('the tables of connections', () => {
  beforeEach((context) => skipWithout(context, endianness() === 'LE', 'a little-endian machine'));
  const HERE = '0100007F:1F9A';
  const port = 0x1f9a;

  it('give the addresses that have reached the limit, and those above it', () => {
    const table = [
      HEADER,
      line('00000000:1F9A', '00000000:0000', LISTEN),
      line(HERE, '0100007F:A001', '01'),
      line(HERE, '0100007F:A002', '01'),
      // Half-closed by the client.
      line(HERE, '0100007F:A003', '08'),
      // Closed by us, or in TIME_WAIT: not counted.
      line(HERE, '0100007F:A004', '06'),
      line(HERE, '0100007F:A005', '04'),
      line(HERE, '0200A8C0:A001', '01'),
      line(HERE, '0200A8C0:A002', '01'),
      line(HERE, '0300A8C0:A001', '01'),
      // The other end, and another port.
      line('0100007F:A001', HERE, '01'),
      line('0100007F:1F9B', '0300A8C0:A001', '01'),
    ].join('\n');
    expect(crowdedOf([table, ''], port, 2)).toEqual({
      full: ['7f000001', 'c0a80002'],
      over: ['7f000001'],
    });
    expect(crowdedOf([table], port, 2, undefined, new Networks(['127.0.0.0/8']))).toEqual({
      full: ['c0a80002'],
      over: [],
    });
    expect(crowdedOf([table], port, 4)).toEqual({ full: [], over: [] });
    expect(crowdedOf([], port, 1)).toEqual({ full: [], over: [] });
  });

  it('count an IPv4 address once, also when it is mapped to IPv6', () => {
    const v4 = line(HERE, '0200A8C0:A001', '01');
    const mapped = '0000000000000000FFFF00000200A8C0';
    const v6 = line(`${mapped}:1F9A`, `${mapped}:A002`, '01');
    const own = line(`${mapped}:1F9A`, '000080FE00000000FF005450B6AD1DFE:A002', '01');
    expect(crowdedOf([v4, `${v6}\n${own}`], port, 2).full).toEqual(['c0a80002']);
    expect(crowdedOf([v4, `${v6}\n${own}`], port, 1).full).toEqual([
      'c0a80002',
      'fe80000000000000',
    ]);
  });

  it('count an IPv6 network as one address', () => {
    // 2001::1234:5678:0:0:0:n, in words of this machine's byte order.
    const from = (network: string, n: number): string =>
      line(
        '00000000000000000000000001000000:1F9A',
        `${network}78563412000000000000000${n}:A001`,
        '01',
      );
    expect(from('00000120', 1)).toMatch(/ [0-9A-F]{32}:A001 /);
    const table = [from('00000120', 1), from('00000120', 2), from('00000220', 2)].join('\n');
    expect(crowdedOf([table], port, 2)).toEqual({ full: ['2001000012345678'], over: [] });
  });

  it('count only connections to the address that the service listens on', () => {
    const table = [
      line(HERE, '0200A8C0:A001', '01'),
      line('0200007F:1F9A', '0200A8C0:A002', '01'),
      line('0200007F:1F9A', '0300A8C0:A002', '01'),
    ].join('\n');
    expect(crowdedOf([table], port, 1, new Set(['7f000001'])).full).toEqual(['c0a80002']);
    expect(crowdedOf([table], port, 1).full).toEqual(['c0a80002', 'c0a80003']);
  });
});

it('are those of this system', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const sockets = await Promise.all(
    ['127.0.0.1', '127.0.0.1', '127.0.0.3'].map(async (localAddress) => {
      const socket = net.connect({ port, host: '127.0.0.1', localAddress });
      await once(socket, 'connect');
      return socket;
    }),
  );
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return '';
    }
  });
  expect(crowdedOf(tables, port, 1)).toEqual({
    full: ['7f000001', '7f000003'],
    over: ['7f000001'],
  });
});
