// What the system holds bot host processes to. Its files are plain files here; test/stress/control-groups.test.ts has a kernel's.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  describeLimits,
  limitSupport,
  ProcessLimits,
} from '../../../src/main/threads/process-limits.js';

const MB = 2 ** 20;
const MOUNT = '31 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n';

let root: string;
let warnings: string[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'drover-limits-'));
  warnings = [];
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text: string): void {
  const file = join(root, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
}

function read(name: string): string {
  return readFileSync(join(root, name), 'utf8');
}

/** A system whose group `path` has these processes. */
function system(path: string, procs: readonly number[], controllers = 'cpu io memory pids'): void {
  write('proc/self/cgroup', `4:memory:/elsewhere\n0::${path}\n`);
  write('proc/self/mountinfo', `24 1 0:5 / / rw - ext4 /dev/root rw\n${MOUNT}`);
  write(`sys/fs/cgroup${path}/cgroup.controllers`, `${controllers}\n`);
  write(`sys/fs/cgroup${path}/cgroup.procs`, procs.map((pid) => `${pid}\n`).join(''));
  write(`sys/fs/cgroup${path}/cgroup.subtree_control`, '');
}

function stat(pid: number, parent: number): void {
  write(`proc/${pid}/stat`, `${pid} (a ) b) S ${parent} 1 1 0 -1 0\n`);
}

/** @returns a PATH with the command. */
function withPrlimit(): string {
  write('bin/prlimit', '#!/bin/sh\n');
  chmodSync(join(root, 'bin/prlimit'), 0o755);
  return `/nowhere:${join(root, 'bin')}`;
}

describe('limitSupport', () => {
  it('finds a group of which all processes are ours', () => {
    system('/drover.service', [process.pid, 4_100_001]);
    stat(4_100_001, 4_100_002);
    stat(4_100_002, process.pid);
    const support = limitSupport(root, '');
    const group = join(root, 'sys/fs/cgroup/drover.service');
    expect(support).toEqual({ memory: 'cgroup', cpu: 'cgroup', reason: null, group });
    expect(describeLimits(support)).toBe(`memory by cgroup v2, CPU by cgroup v2 in ${group}`);
  });

  it('takes the group above when this process is in its own already', () => {
    system('/drover.service', []);
    write('proc/self/cgroup', '0::/drover.service/service\n');
    expect(limitSupport(root, '').group).toBe(join(root, 'sys/fs/cgroup/drover.service'));
  });

  it('finds the group of a container, of which a part of the hierarchy is mounted', () => {
    system('/docker/abc', [process.pid]);
    write('proc/self/mountinfo', MOUNT.replace(' / /sys', ' /docker /sys'));
    write('sys/fs/cgroup/abc/cgroup.controllers', 'memory');
    write('sys/fs/cgroup/abc/cgroup.procs', `${process.pid}\n`);
    write('sys/fs/cgroup/abc/cgroup.subtree_control', '');
    expect(limitSupport(root, withPrlimit())).toMatchObject({ memory: 'cgroup', cpu: null });
  });

  it.each([
    ['there is no cgroup v2', () => write('proc/self/cgroup', '3:memory:/x\n')],
    ['there is no cgroup v2', () => write('proc/self/mountinfo', '')],
    [
      'cgroup v2 has no controllers of memory and CPU here',
      () => write('sys/fs/cgroup/a/cgroup.controllers', 'pids\n'),
    ],
    [
      /^the control group \S+ has other processes, such as 4100003$/,
      () => {
        write('sys/fs/cgroup/a/cgroup.procs', `${process.pid}\n4100003\n`);
        stat(4_100_003, 1);
      },
    ],
    [
      /^the control group \S+ is not delegated to this user$/,
      // As one that is not there: root may write to everything else.
      () => rmSync(join(root, 'sys/fs/cgroup/a/cgroup.subtree_control')),
    ],
  ])('falls back to prlimit, and says why: %s', (reason, spoil) => {
    system('/a', [process.pid]);
    spoil();
    const support = limitSupport(root, withPrlimit());
    expect(support).toMatchObject({ memory: 'rlimit', cpu: null, group: null });
    expect(support.reason).toMatch(reason);
    expect(describeLimits(support)).toBe(`memory by prlimit, no CPU limit: ${support.reason}`);
  });

  it('says that there is no limit at all', () => {
    system('/a', [process.pid], '');
    expect(describeLimits(limitSupport(root, ''))).toBe(
      'no memory limit, no CPU limit: cgroup v2 has no controllers of memory and CPU here; prlimit, of the package util-linux, is missing',
    );
  });
});

describe('ProcessLimits', () => {
  const byData = { cgroup: null, memoryBytes: (100 + 512) * MB, byData: true };
  const options = { maxHeapMb: 100, memoryMb: null, cpu: null };
  const create = (more: object = {}) =>
    new ProcessLimits({ ...options, warn: (line) => warnings.push(line), ...more }, root);

  it('without a group gives what prlimit is to set', () => {
    system('/a', [process.pid], 'pids');
    const limits = create();
    expect(limits.start(1)).toEqual(byData);
    expect(limits.ended(byData)).toBe(false);
    expect(create({ memoryMb: 70 }).start(1).memoryBytes).toBe(70 * MB);
    expect(warnings).toEqual([]);
  });

  it('warns once of a limit of CPU that cannot be', () => {
    system('/a', [process.pid], 'pids');
    const limits = create({ cpu: 0.5 });
    limits.start(1);
    limits.start(2);
    expect(warnings).toEqual([
      'limits of bot host processes: memory by prlimit, no CPU limit: cgroup v2 has no controllers of memory and CPU here',
    ]);
  });

  it('moves the service to another group, and limits one for each process', () => {
    system('/a', [process.pid]);
    const limits = create({ memoryMb: 300, cpu: 0.25 });
    const { cgroup, byData } = limits.start(7);
    expect(cgroup).toBe(join(root, 'sys/fs/cgroup/a/host-7'));
    expect(byData).toBe(false);
    expect(read('sys/fs/cgroup/a/service/cgroup.procs')).toBe(`${process.pid}`);
    expect(read('sys/fs/cgroup/a/host-7/memory.max')).toBe(`${300 * MB}`);
    expect(read('sys/fs/cgroup/a/host-7/memory.oom.group')).toBe('1');
    expect(read('sys/fs/cgroup/a/host-7/memory.swap.max')).toBe('0');
    expect(read('sys/fs/cgroup/a/host-7/cpu.max')).toBe('25000 100000');
    expect(warnings).toEqual([]);
  });

  it('divides the group when a process that was there is gone', () => {
    system('/a', [process.pid, 4_100_005]);
    stat(4_100_005, 1);
    const limits = create();
    expect(limits.start(1).cgroup).toBeNull();
    write('sys/fs/cgroup/a/cgroup.procs', `${process.pid}\n`);
    expect(limits.start(2).cgroup).toBe(join(root, 'sys/fs/cgroup/a/host-2'));
  });

  it('removes what a service that was killed has left, and does without a group that is still used', () => {
    system('/a', [process.pid]);
    mkdirSync(join(root, 'sys/fs/cgroup/a/host-1'));
    write('sys/fs/cgroup/a/host-2/cgroup.procs', '4100004\n');
    const limits = create();
    expect(limits.start(1).cgroup).not.toBeNull();
    expect(limits.start(2)).toEqual(byData);
    expect(warnings).toEqual([
      expect.stringMatching(/^a bot host process has no control group: EEXIST/),
    ]);
  });

  it('says of a process whether the system has ended it', () => {
    system('/a', [process.pid]);
    const limits = create();
    const well = limits.start(1);
    expect(limits.ended(well)).toBe(false);
    const short = limits.start(2);
    write('sys/fs/cgroup/a/host-2/memory.events', 'low 0\nmax 12\noom 1\noom_kill 1\n');
    expect(limits.ended(short)).toBe(true);
    expect(read('sys/fs/cgroup/a/host-2/cgroup.kill')).toBe('1');
  });

  it('removes a group as soon as nothing is in it any more', () => {
    system('/a', [process.pid], 'pids cpu');
    const limits = create();
    const started = limits.start(1);
    const { cgroup } = started as { cgroup: string };
    limits.ended(started);
    // A directory with files is as a group with processes.
    expect(existsSync(cgroup)).toBe(true);
    rmSync(join(cgroup, 'cgroup.kill'));
    limits.close();
    expect(existsSync(cgroup)).toBe(false);
  });
});
