import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Service } from './service.js';

/** The directory of the kind `breaker`, for `kinds` in a configuration. */
export const ISOLATION_KINDS = fileURLToPath(new URL('../fixtures/isolation', import.meta.url));

/** The processes that a service has started, of Linux. */
export function isolatedProcesses({ child }: Pick<Service, 'child'>): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === child.pid)
    .map(Number);
}

/** The process group. Undefined for a process that is gone. */
export function groupOf(pid: number): number | undefined {
  // After the name, which may have spaces: state, parent, group.
  const group = statOf(pid)?.split(') ')[1]?.split(' ')[2];
  return group === undefined ? undefined : Number(group);
}

/** Whether it runs. One that has ended and was not collected does not. */
export function isThere(pid: number): boolean {
  const state = statOf(pid)?.split(') ')[1]?.[0];
  return state !== undefined && state !== 'Z';
}

function parentOf(pid: string): number {
  return Number(statOf(Number(pid))?.split(') ')[1]?.split(' ')[1]);
}

function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
}
