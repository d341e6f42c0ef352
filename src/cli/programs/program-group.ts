import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { withTimeout } from '../../shared/with-timeout.js';
import type { TrialOutput } from '../commands/trial-output.js';
import { EXIT } from '../exit-codes.js';
import type { ProgramPeer } from './program-peer.js';

/** How long its standard output may stay open after the end of the program, in ms. */
export const CLOSE_MS = 250;
const STEP_MS = 20;

interface GroupProcess {
  pid: number;
  name: string;
}

/** What is left of the process group of a program that has ended. @param withinMs how long it has to end, in ms. */
async function groupOf(peer: ProgramPeer, withinMs: number): Promise<GroupProcess[]> {
  const until = performance.now() + withinMs;
  while (peer.signal(0)) {
    if (performance.now() < until) await delay(STEP_MS);
    else return membersOf(peer.group);
  }
  return [];
}

/** Ends everything that is left of a program, and reports it if the program itself has ended. */
export async function endGroup(peer: ProgramPeer, output: TrialOutput): Promise<void> {
  const { isOver } = peer;
  const left = isOver ? await groupOf(peer, CLOSE_MS) : [];
  for (const { pid, name } of left) {
    output.report.left_behind.push({ what: `process ${name}`, at: null, pid });
    output.say(`left behind: process ${pid} (${name})`);
  }
  peer.signal('SIGKILL');
  await peer.ended;
  if (left.length > 0) {
    const what = left.length === 1 ? '1 process is' : `${left.length} processes are`;
    output.fail(`${what} left behind; end what the program starts before it ends`, EXIT.failed);
  } else if (isOver) output.say('nothing is left behind');
  const isClosed = await withTimeout(
    peer.closed.then(() => true),
    CLOSE_MS,
    () => false,
  );
  if (isClosed) return;
  output.fail(
    'a process that has left its process group still has its standard output',
    EXIT.failed,
  );
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
