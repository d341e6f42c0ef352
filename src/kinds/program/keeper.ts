// Runs in a bot host. Owns its keeper: a small process that kills the programs' process groups when the host is gone, however it
// went. It holds the other end of a pipe of the host, which the system closes with the thread or process. Linux's PR_SET_PDEATHSIG would
// reach only the program itself, and Node cannot set it.

import { AsyncResource } from 'node:async_hooks';
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';

/** Names the start of a program in its environment, so that the keeper finds a program whose group it was not told yet. */
const START = 'DROVER_START';

/**
 * Reads `? <start>` before a program starts, then `+ <group>`, or `! -` if it did not start, and `- <group>` when it has ended.
 * At the end of its input it kills the groups that are left, and the program that was starting: on a busy machine it may run long
 * before its host can tell its group. Its environment is empty for a moment, so the keeper looks for a second. A megabyte of memory.
 */
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
while read -r sign what; do
  case $sign in
    \\?) start=$what ;;
    +) start=; groups="$groups$what " ;;
    !) start= ;;
    -) case $groups in *" $what "*) groups="\${groups%%" $what "*} \${groups#*" $what "}" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for try in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$start" ] || exit
  for file in $(grep -lsz "^${START}=$start$" /proc/[0-9]*/environ); do
    process=\${file#/proc/}
    kill -s KILL -- "-\${process%/environ}" && start=
  done
  sleep 0.1
done
`;

// The keeper is no bot's: it would end with the bot that came first.
const host = new AsyncResource('drover.keeper');

const groups = new Set<number>();
let keeper: ChildProcessByStdio<Writable, null, null> | undefined;

/**
 * Starts a program that leads its own process group. The group is killed with the host from its first moment.
 * @param spawnProgram gets the variable that the program's environment must have.
 */
export function spawnKept<T extends ChildProcess>(
  spawnProgram: (variable: Readonly<Record<string, string>>) => T,
): T {
  if (!keeper) start();
  const name = randomUUID();
  tell(`? ${name}`);
  let group: number | undefined;
  try {
    const child = spawnProgram({ [START]: name });
    group = child.pid;
    return child;
  } finally {
    if (group !== undefined) groups.add(group);
    tell(group === undefined ? '! -' : `+ ${group}`);
  }
}

/** The group has ended. Its number may become that of another. */
export function release(group: number): void {
  if (groups.delete(group)) tell(`- ${group}`);
}

function tell(line: string): void {
  keeper?.stdin.write(`${line}\n`);
}

function start(): void {
  host.runInAsyncScope(() => {
    // Its own group: a Ctrl-C in the terminal of the service must not end it before the service.
    const child = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: {},
      cwd: '/',
    });
    keeper = child;
    // It may die at any time; then another begins.
    child.stdin.on('error', () => {});
    // There is no shell, or no process could be made: the next program tries again.
    child.once('error', () => {
      if (keeper === child) keeper = undefined;
    });
    child.once('exit', () => {
      if (keeper !== child) return;
      keeper = undefined;
      if (groups.size > 0) start();
    });
    // It must not keep the host alive.
    child.unref();
    (child.stdin as Writable & { unref?: () => void }).unref?.();
    for (const group of groups) tell(`+ ${group}`);
  });
}
