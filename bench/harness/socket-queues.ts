// Runs in the bench process. Reads from /proc what the kernel holds for connections: bytes that one side has sent and the
// other has not read. None of it is memory of a process. Linux only, IPv4.

import { readFileSync } from 'node:fs';

/** @returns by the client's port: bytes under way from the server at `serverPort` to it, on both sides. */
export function bytesHeldByKernel(serverPort: number): Map<number, number> {
  return parseQueues(readFileSync('/proc/net/tcp', 'utf8'), serverPort);
}

/** Takes /proc/net/tcp apart: `sl local_address rem_address st tx_queue:rx_queue …`, all in hexadecimal. */
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
