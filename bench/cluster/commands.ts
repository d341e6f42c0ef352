// A command to a bot on another node, beside the same to a bot on the node that is asked.

import { ECHO_ALONE } from '../bots/invoke.js';
import { LoadProcess } from '../harness/load.js';
import { benchScript } from '../harness/paths.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds } from '../harness/rounds.js';
import { contenderOf, type Load, type Measurement } from '../http/measurement.js';
import type { Route } from '../http/routes.js';
import type { BenchCluster } from './cluster.js';

export const HERE = 'asked node';
export const ELSEWHERE = 'another node';

export async function measureCommands(
  { nodes }: BenchCluster,
  plan: { rounds: number; seconds: number },
  progress: Progress,
): Promise<Measurements<Measurement>> {
  const [asked, other] = nodes;
  if (!asked || !other) throw new Error('two nodes are needed');
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  const bots = [
    { name: HERE, id: 'here', node: asked.server.name },
    { name: ELSEWHERE, id: 'elsewhere', node: other.server.name },
  ];
  try {
    const target = { url: asked.server.url, token: asked.token, wrongPin: '', botsBytes: 0 };
    const contenders = [];
    for (const { name, id, node } of bots) {
      await asked.createBot(id, 'bench-talk', { events_per_second: 0 }, { node });
      const body = { session_id: id, command: 'echo', args: { text: 'hello' } };
      const route: Route = { ...ECHO_ALONE, body: () => JSON.stringify(body) };
      const times = { seconds: plan.seconds, warmUpSeconds: plan.seconds };
      contenders.push({ ...contenderOf(asked.server, target, route, times, load), name });
    }
    await asked.untilSettled(bots.length);
    const measured = await runRounds('cluster, commands', contenders, plan.rounds, progress);
    for (const { id } of bots) await asked.deleteBot(id);
    return measured;
  } finally {
    await load.stop();
  }
}
