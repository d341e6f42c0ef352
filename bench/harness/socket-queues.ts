// Reads from /proc the bytes that the kernel buffers for connections: sent by one side and not yet read by the other. They are
// not part of any process's memory. Linux only, IPv4.

import { readFileSync } from 'node:fs';

/** @returns bytes in flight from the server at `serverPort`, on both sides, by client port. */
export function bytesHeldByKernel(serverPort: number): Map<number, number> {
  return parseQueues(readFileSync('/proc/net/tcp', 'utf8'), serverPort);
}

/** Parses /proc/net/tcp: `sl local_address rem_address st tx_queue:rx_queue …`, all in hexadecimal. */
export function parseQueues(table: string, serverPort: number): Map<number, number> {
  const held = new Map<number, number>();
  for (const line of table.split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    const [sent = '0', received = '0'] = queues.split(':');
    const [localPort, remotePort] = [portOf(local), portOf(remote)];
    if (localPort === serverPort && remotePort > 0) add(held, remotePort, sent);
    else if (remotePort === serverPort) add(held, localPort, received);
  }
  return held;
}

function add(held: Map<number, number>, client: number, hex: string): void {
  held.set(client, (held.get(client) ?? 0) + Number.parseInt(hex, 16));
}

function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '0', 16);
}
