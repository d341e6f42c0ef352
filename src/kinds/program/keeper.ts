// Runs in a bot host. Owns its keeper: a small process that kills the programs' process groups when the host is gone, however it
// went. It holds the other end of a pipe of the host, which the system closes with the thread or process.

import { AsyncResource } from 'node:async_hooks';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/** Reads `+ <group>` and `- <group>`, and kills the groups that are left at the end of its input. A megabyte of memory. */
const SCRIPT = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
`;

// The keeper is no bot's: it would end with the bot that came first.
const host = new AsyncResource('drover.keeper');

const groups = new Set<number>();
let keeper: ChildProcessByStdio<Writable, null, null> | undefined;

/** The group is killed with the host from now on. */
export function keep(group: number): void {
  groups.add(group);
  if (keeper) keeper.stdin.write(`+ ${group}\n`);
  else start();
}

/** The group has ended. Its number may become that of another. */
export function release(group: number): void {
  if (groups.delete(group)) keeper?.stdin.write(`- ${group}\n`);
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
    for (const group of groups) child.stdin.write(`+ ${group}\n`);
  });
}
