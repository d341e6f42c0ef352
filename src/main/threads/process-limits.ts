// Runs in main. Owns the control groups of bot host processes, and knows which limits the system can set for them.
//
// Linux has two ways. A control group (cgroup v2) limits memory and CPU of a process and of all that it starts, but only who was
// given a group may divide it: systemd does so with Delegate=. Without one the limit of memory is RLIMIT_DATA, which the process
// gets by the command `prlimit`, and there is none of CPU.

import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import type { SystemLimits } from '../../shared/pipe/messages.js';

const MB = 2 ** 20;
/** Memory beyond hosts.max_heap_mb that a process may have by default, in MB. The memory guard, which can say why, acts below it. */
const BEYOND_HEAP_MB = 512;
/** Length of a period of the limit of CPU, in µs. */
const PERIOD_US = 100_000;
/** The group of the service itself: a group that is divided has no processes itself. */
const OWN_GROUP = 'service';
const HOST_GROUP = /^host-\d+$/;
/** Passes in which processes are moved: the service may start some meanwhile. */
const MOVES = 10;

/** The limits that this machine can set, and by which means. */
export interface LimitSupport {
  memory: 'cgroup' | 'rlimit' | null;
  cpu: 'cgroup' | null;
  /** Why there is no control group; null when there is one. */
  reason: string | null;
  /** The directory of the group that can be divided. */
  group: string | null;
}

/** Changes nothing. @param root where the system's files are. */
export function limitSupport(root = '/', path = process.env.PATH ?? ''): LimitSupport {
  const rlimit = process.platform === 'linux' && hasPrlimit(path) ? 'rlimit' : null;
  try {
    const { dir, controllers } = delegatedGroup(root);
    return {
      memory: controllers.includes('memory') ? 'cgroup' : rlimit,
      cpu: controllers.includes('cpu') ? 'cgroup' : null,
      reason: null,
      group: dir,
    };
  } catch (thrown) {
    return { memory: rlimit, cpu: null, reason: messageOf(thrown), group: null };
  }
}

/** For people: what limits there are, and what is missing for the others. */
export function describeLimits({ memory, cpu, reason, group }: LimitSupport): string {
  const by = (kind: 'cgroup' | 'rlimit') => (kind === 'cgroup' ? 'cgroup v2' : 'prlimit');
  const has = [
    memory === null ? 'no memory limit' : `memory by ${by(memory)}`,
    cpu === null ? 'no CPU limit' : `CPU by ${by(cpu)}`,
  ].join(', ');
  if (group !== null) return `${has} in ${group}`;
  const prlimit = memory === null ? '; prlimit, of the package util-linux, is missing' : '';
  return `${has}: ${reason}${prlimit}`;
}

interface Group {
  dir: string;
  controllers: string[];
}

/** The control group of this process. @throws Error why it cannot be divided. */
function delegatedGroup(root: string): Group {
  if (process.platform !== 'linux') throw new Error('control groups exist on Linux only');
  const own = ownGroup(root);
  if (own === null) throw new Error('there is no cgroup v2');
  // It was moved there before.
  const dir = own.endsWith(`/${OWN_GROUP}`) ? own.slice(0, -OWN_GROUP.length - 1) : own;
  const controllers = read(dir, 'cgroup.controllers')
    .split(/\s+/)
    .filter((name) => name === 'memory' || name === 'cpu');
  if (controllers.length === 0)
    throw new Error('cgroup v2 has no controllers of memory and CPU here');
  try {
    for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control']) {
      accessSync(join(dir, name), constants.W_OK);
    }
  } catch {
    throw new Error(`the control group ${dir} is not delegated to this user`);
  }
  const other = pidsIn(dir).find((pid) => !isOwn(pid, root));
  if (other !== undefined) {
    throw new Error(`the control group ${dir} has other processes, such as ${other}`);
  }
  return { dir, controllers };
}

/** Null without cgroup v2. */
function ownGroup(root: string): string | null {
  const path = /^0::(\/.*)$/m.exec(read(root, 'proc/self/cgroup'))?.[1];
  if (path === undefined) return null;
  for (const line of read(root, 'proc/self/mountinfo').split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    if (!after.startsWith('cgroup2 ')) continue;
    const [, , , mounted = '/', at = ''] = before.split(' ');
    // A part of the hierarchy may be mounted.
    const inside = mounted === '/' ? path : path.slice(mounted.length);
    return join(root, at, inside).replace(/\/$/, '');
  }
  return null;
}

/** Whether it is this process, or one that it has started, also through others. */
function isOwn(pid: number, root: string): boolean {
  for (let at = pid; at > 0; ) {
    if (at === process.pid) return true;
    try {
      // The name, in parentheses, may have any characters.
      const [, parent] = /\) \S (\d+) [^)]*$/.exec(read(root, `proc/${at}/stat`)) ?? [];
      at = Number(parent);
    } catch {
      return false;
    }
  }
  return false;
}

function pidsIn(dir: string): number[] {
  return read(dir, 'cgroup.procs').split('\n').filter(Boolean).map(Number);
}

function read(dir: string, name: string): string {
  return readFileSync(join(dir, name), 'latin1');
}

function hasPrlimit(path: string): boolean {
  return path.split(delimiter).some((dir) => {
    try {
      accessSync(join(dir, 'prlimit'), constants.X_OK);
      return dir !== '';
    } catch {
      return false;
    }
  });
}

export interface LimitOptions {
  /** hosts.max_heap_mb */
  maxHeapMb: number;
  /** hosts.process_memory_mb */
  memoryMb: number | null;
  /** hosts.process_cpu */
  cpu: number | null;
  /** Called with a line that an operator should know. */
  warn(line: string): void;
}

export class ProcessLimits {
  readonly #options: LimitOptions;
  readonly #root: string;
  /** Bounded by the reasons that the system has. */
  readonly #warned = new Set<string>();
  #support: LimitSupport | undefined;
  /** Of processes whose group still had something in it when they ended. Bounded by their number. */
  readonly #left = new Set<string>();

  constructor(options: LimitOptions, root = '/') {
    this.#options = options;
    this.#root = root;
  }

  /** Bytes that the process may have. */
  get memoryBytes(): number {
    const { maxHeapMb, memoryMb } = this.#options;
    return (memoryMb ?? maxHeapMb + BEYOND_HEAP_MB) * MB;
  }

  /** @returns the limits of a process that starts. @param link the number of the process, which no other has. */
  start(link: number): SystemLimits {
    const { memory, group } = this.#prepared();
    const { memoryBytes } = this;
    const byData = memory === 'rlimit';
    if (group === null) return { cgroup: null, memoryBytes, byData };
    const cgroup = join(group, `host-${link}`);
    try {
      mkdirSync(cgroup);
    } catch (thrown) {
      this.#warnOnce(`a bot host process has no control group: ${messageOf(thrown)}`);
      return { cgroup: null, memoryBytes, byData: true };
    }
    try {
      this.#limit(cgroup);
      return { cgroup, memoryBytes, byData };
    } catch (thrown) {
      this.#left.add(cgroup);
      this.#removeLeft();
      this.#warnOnce(`the control group of a bot host process has no limits: ${messageOf(thrown)}`);
      return { cgroup: null, memoryBytes, byData: true };
    }
  }

  /** To be called when the process is gone. @returns whether the system has ended a process of its group for want of memory. */
  ended({ cgroup }: SystemLimits): boolean {
    if (cgroup === null) return false;
    try {
      // Also what has left its process group.
      writeFileSync(join(cgroup, 'cgroup.kill'), '1');
    } catch {
      // Linux before 5.14 has no cgroup.kill.
    }
    const wasShort = hasKilled(cgroup);
    this.#left.add(cgroup);
    this.#removeLeft();
    return wasShort;
  }

  /** To be called after the last process. */
  close(): void {
    this.#removeLeft();
  }

  #limit(cgroup: string): void {
    const { memory, cpu } = this.#prepared();
    if (memory === 'cgroup') {
      writeFileSync(join(cgroup, 'memory.max'), `${this.memoryBytes}`);
      // The whole group ends, because a part of it may be what answers for the rest.
      writeFileSync(join(cgroup, 'memory.oom.group'), '1');
      try {
        // In swap space the process would continue and slow everything down.
        writeFileSync(join(cgroup, 'memory.swap.max'), '0');
      } catch {
        // A system without swap space.
      }
    }
    if (cpu === 'cgroup' && this.#options.cpu !== null) {
      const quota = Math.round(this.#options.cpu * PERIOD_US);
      writeFileSync(join(cgroup, 'cpu.max'), `${quota} ${PERIOD_US}`);
    }
  }

  /** Divides the group of the service when the first process starts. */
  #prepared(): LimitSupport {
    // Another process in the group, such as a check of health in a container, may be gone with the next.
    if (!this.#support?.group) this.#support = this.#prepare();
    return this.#support;
  }

  #warnOnce(line: string): void {
    if (this.#warned.has(line)) return;
    this.#warned.add(line);
    this.#options.warn(line);
  }

  #prepare(): LimitSupport {
    let support = limitSupport(this.#root);
    if (support.group !== null) {
      try {
        divide(support.group, support);
      } catch (thrown) {
        const reason = `the control group ${support.group} cannot be divided: ${messageOf(thrown)}`;
        const memory = hasPrlimit(process.env.PATH ?? '') ? 'rlimit' : null;
        support = { memory, cpu: null, reason, group: null };
      }
    }
    const isMissing = support.memory === null || (this.#options.cpu !== null && !support.cpu);
    if (isMissing) this.#warnOnce(`limits of bot host processes: ${describeLimits(support)}`);
    return support;
  }

  /** A group can be removed when the last process in it is gone, which takes a moment. */
  #removeLeft(): void {
    for (const cgroup of this.#left) {
      try {
        rmdirSync(cgroup);
        this.#left.delete(cgroup);
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') this.#left.delete(cgroup);
      }
    }
  }
}

/** Moves the service, and what it has started, into a group below, so that others can be beside it. @throws Error */
function divide(dir: string, { memory, cpu }: LimitSupport): void {
  for (const name of readdirSync(dir)) {
    if (HOST_GROUP.test(name)) removeGroup(join(dir, name));
  }
  mkdirSync(join(dir, OWN_GROUP), { recursive: true });
  for (let move = 0; move < MOVES; move++) {
    const pids = pidsIn(dir);
    if (pids.length === 0) break;
    for (const pid of pids) moveProcess(pid, join(dir, OWN_GROUP));
  }
  for (const [name, kind] of Object.entries({ memory, cpu })) {
    if (kind === 'cgroup') writeFileSync(join(dir, 'cgroup.subtree_control'), `+${name}`);
  }
}

/** Whether the system has ended a process of the group for want of memory. */
function hasKilled(cgroup: string): boolean {
  try {
    return /^oom_kill [1-9]/m.test(read(cgroup, 'memory.events'));
  } catch {
    // The group has no controller of memory.
    return false;
  }
}

/** Removes groups that a killed service has left. */
function removeGroup(dir: string): void {
  try {
    rmdirSync(dir);
  } catch {
    // The group still has processes, so its number is not used.
  }
}

function moveProcess(pid: number, dir: string): void {
  try {
    writeFileSync(join(dir, 'cgroup.procs'), `${pid}`);
  } catch (thrown) {
    // The process has ended meanwhile.
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
}
