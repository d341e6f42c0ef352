// The cluster bench.

import { BenchCluster } from './cluster/cluster.js';
import { measureThroughput } from './cluster/throughput.js';
import type { Bench, BenchOptions, BenchResult } from './harness/bench.js';
import type { Progress } from './harness/progress.js';

export const cluster: Bench = { name: 'cluster', about: 'three nodes on NATS', run };

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const rates = (process.env['RATES'] ?? '60000').split(',').map(Number);
  const one = await BenchCluster.start(Number(process.env['SERVERS'] ?? 1), { hosts: { count: 1, bot_lines_per_second: 0 } });
  try {
    const tried = await measureThroughput(one, { rates, tryS: options.short ? 5 : 5, sustainS: options.short ? 5 : Number(process.env['SUSTAIN'] ?? 5) }, progress);
    for (const t of tried) { console.log(JSON.stringify({ ...t, parts: undefined })); console.log(t.parts.map((p) => `${p.name} ${p.cores.toFixed(2)} ${p.usPerEvent.toFixed(2)}`).join(' | ')); }
    return { metrics: [], tables: [], measurements: tried };
  } finally {
    await one.stop();
  }
}
