// `drover pressure`: how close the service is to its limits.

import type { Command } from 'commander';
import type { PressureReport } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { showDuration } from '../flags/duration.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, table } from '../terminal/output.js';

const HEAD = ['RESOURCE', 'USED', 'LIMIT', 'STATE'];

export function addPressure(program: Command): void {
  withConnection(program.command('pressure'))
    .description('show how close the service is to its limits, and which resources are short')
    .option('--json', 'print the report as JSON')
    .action(action(pressure));
}

async function pressure(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const { client, call } = connect(options);
  const report = await client.pressure(call());
  if (options.json) await printJson(report);
  else await print(table(HEAD, rowsOf(report)));
  for (const [what, part] of [
    ['the store', report.store],
    ['the journal', report.journal],
    ['the connection to the cluster', report.cluster],
  ] as const) {
    if (part && part.reason !== null) complain(`${what} is ${part.state}: ${part.reason}`);
  }
}

function rowsOf(report: PressureReport): string[][] {
  const { cpu, memory, streams, queue, files, hosts, bots, store, journal } = report;
  const share = (part: number): string => `${Math.round(part * 1000) / 10} %`;
  const bytes = (size: number): string => `${Math.round(size / 2 ** 20)} MiB`;
  const count = (number: number | null): string => (number === null ? '-' : String(number));
  const { most } = files;
  const rows: [resource: string, used: string, limit: string, note?: string][] = [
    ['cpu', share(cpu.used), share(cpu.limit)],
    ['memory', bytes(memory.used_bytes), bytes(memory.limit_bytes)],
    ['streams', String(streams.open), String(streams.limit)],
    ['queue', share(queue.used), share(queue.limit)],
    [
      'files',
      count(files.used),
      count(files.limit),
      most === null ? '' : `kind ${most.kind} has ${most.open} connections`,
    ],
    ['bots', String(bots.present), String(bots.limit)],
    ['disk', store.state, ''],
    ['journal', journal.state, ''],
    // Earlier versions of the service do not report it.
    ...clusterRow(report.cluster),
    ...hosts.map(({ host, bots, delay_ms }): [string, string, string] => [
      `host ${host}`,
      `${bots} bots, ${showDuration(delay_ms)} late`,
      '',
    ]),
  ];
  const missing: readonly string[] = report.short;
  return rows.map(([resource, used, limit, note = '']) => {
    const short = missing.includes(resource) ? 'short' : '';
    return [resource, used, limit, [short, note].filter((text) => text !== '').join(', ')];
  });
}

function clusterRow(
  cluster: PressureReport['cluster'] | undefined,
): [string, string, string, string][] {
  if (!cluster) return [];
  const { state, unpublished, behind } = cluster;
  return [['cluster', state, '', `${unpublished} events to publish, ${behind} blocks to read`]];
}
