// `drover pressure`: how close the service is to its limits.

import type { Command } from 'commander';
import type { PressureReport } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, table } from '../terminal/output.js';

const HEAD = ['RESOURCE', 'USED', 'LIMIT', ''];

export function addPressure(program: Command): void {
  withConnection(program.command('pressure'))
    .description('show how close the service is to its limits, and what is short')
    .option('--json', 'print the report as JSON')
    .action(action(pressure));
}

async function pressure(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const { client, call } = connect(options);
  const report = await client.pressure(call());
  if (options.json) await printJson(report);
  else await print(table(HEAD, rowsOf(report)));
  for (const [what, { state, reason }] of [
    ['the store', report.store],
    ['the journal', report.journal],
  ] as const) {
    if (reason !== null) complain(`${what} is ${state}: ${reason}`);
  }
}

function rowsOf({
  cpu,
  memory,
  streams,
  queue,
  files,
  hosts,
  bots,
  store,
  journal,
  short,
}: PressureReport) {
  const share = (part: number): string => `${Math.round(part * 1000) / 10} %`;
  const bytes = (size: number): string => `${Math.round(size / 2 ** 20)} MiB`;
  const rows: [resource: string, used: string, limit: string][] = [
    ['cpu', share(cpu.used), share(cpu.limit)],
    ['memory', bytes(memory.used_bytes), bytes(memory.limit_bytes)],
    ['streams', String(streams.open), String(streams.limit)],
    ['queue', share(queue.used), share(queue.limit)],
    ['files', String(files.used ?? 'unknown'), String(files.limit ?? '')],
    ['bots', String(bots.present), String(bots.limit)],
    ['disk', store.state, ''],
    ['journal', journal.state, ''],
    ...hosts.map(({ host, delay_ms }): [string, string, string] => [
      `host ${host}`,
      `${delay_ms} ms late`,
      '',
    ]),
  ];
  const missing: readonly string[] = short;
  return rows.map((row) => [...row, missing.includes(row[0]) ? 'short' : '']);
}
