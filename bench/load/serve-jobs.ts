import { createInterface } from 'node:readline';
import type { LoadReply } from '../harness/load.js';

/**
 * The life of a load process: prints `ready`, then performs the jobs on standard input, a line of JSON each, one at a time,
 * and prints a reply for each. Ends the process when standard input ends, with the bench: open sockets must not keep it alive.
 */
export async function serveJobs<Job, Result>(
  perform: (job: Job) => Result | Promise<Result>,
): Promise<never> {
  const reply = async (line: string): Promise<LoadReply<Result>> => {
    try {
      return { result: await perform(JSON.parse(line) as Job) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  };
  process.stdout.write('ready\n');
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await reply(line))}\n`);
  }
  process.exit(0);
}
