// A load process: many thousands of event stream clients on raw sockets. Jobs and results are lines of JSON (swarm-jobs.ts).

import { serveJobs } from './serve-jobs.js';
import { SwarmGroup } from './swarm-group.js';
import type { SwarmJob, SwarmReply } from './swarm-jobs.js';

const groups = new Map<string, SwarmGroup>();

function find(name: string): SwarmGroup {
  const group = groups.get(name);
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return group;
}

async function perform(job: SwarmJob): Promise<SwarmReply> {
  if (job.do === 'open') {
    const group = groups.get(job.group) ?? new SwarmGroup();
    groups.set(job.group, group);
    await group.open(job.target, job.streams, job.reading);
    return { ...group.report(), ports: group.ports() };
  }
  const group = find(job.group);
  switch (job.do) {
    case 'mark':
      group.mark(job.sample, job.filtered);
      return group.report();
    case 'begin':
      group.begin();
      return group.report();
    case 'end':
      return group.report();
    case 'drain':
      await group.drain(job.withinMs);
      return group.report();
    case 'resume': {
      const resumed = await group.resume(job.forMs);
      return { ...group.report(), resumed };
    }
    case 'close':
      group.close();
      groups.delete(job.group);
      return group.report();
  }
}

await serveJobs(perform);
