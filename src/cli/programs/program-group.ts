import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProgramPeer } from './program-peer.js';

const STEP_MS = 20;

export interface GroupProcess {
  pid: number;
  name: string;
}

/** What is left of the process group of a program that has ended. @param withinMs how long it has to end, in ms. */
export async function groupOf(peer: ProgramPeer, withinMs: number): Promise<GroupProcess[]> {
  const until = performance.now() + withinMs;
  while (peer.signal(0)) {
    if (performance.now() < until) await delay(STEP_MS);
    else return membersOf(peer.group);
  }
  return [];
}

export function endGroup(peer: ProgramPeer): void {
  peer.signal('SIGKILL');
}

/** From /proc, where there is one. */
function membersOf(group: number): GroupProcess[] {
  const found: GroupProcess[] = [];
  let pids: string[] = [];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // Not Linux: the group itself is named.
  }
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name is in parentheses, and may contain any character.
      const end = stat.lastIndexOf(')');
      const [state, , pgrp] = stat.slice(end + 2).split(' ');
      if (Number(pgrp) !== group || state === 'Z') continue;
      found.push({ pid: Number(pid), name: stat.slice(stat.indexOf('(') + 1, end) });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found.length > 0 || pids.length > 0 ? found : [{ pid: group, name: 'of its group' }];
}
