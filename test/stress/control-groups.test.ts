// Control groups of a real kernel: one that runs as a process (User Mode Linux), with the files of this machine and its own
// cgroup v2, because that of this machine may be another's, or of the first version. control-groups-guest.mjs runs in it.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { requireTool } from '../harness/needs.js';

const INIT = fileURLToPath(new URL('control-groups-guest.sh', import.meta.url));
const isLinux = process.platform === 'linux';

interface Found {
  doctor: { check: string; result: string; message: string }[];
  limits: { memory: string; cpu: string; processes: number; service: boolean; rest: string };
  incident: { type: string; reason: string; exit: { signal: string | null } };
  cpu: { usage_usec: string; nr_periods: string; nr_throttled: string };
  health: number;
  code: number;
  left: string[];
}

it.runIf(isLinux)(
  'a bot host process has its own group, with limits of memory and CPU that hold',
  { timeout: 300_000 },
  async () => {
    requireTool('linux.uml', 'user-mode-linux');
    const options = ['mem=1500M', 'rootfstype=hostfs', 'rootflags=/', 'rw', 'quiet'];
    const consoles = ['con=null', 'con0=null,fd:1', 'con1=null'];
    const { stdout } = await promisify(execFile)(
      'linux.uml',
      [...options, `init=${INIT}`, `GUEST_NODE=${process.execPath}`, ...consoles],
      { maxBuffer: 2 ** 26 },
    );
    const found = /^FOUND (\{.*\})\r?$/m.exec(stdout)?.[1];
    expect(found, stdout).toBeDefined();
    const { doctor, limits, incident, cpu, health, code, left } = JSON.parse(found ?? '') as Found;
    expect(doctor.find(({ check }) => check === 'process limits')).toEqual({
      check: 'process limits',
      result: 'ok',
      message: 'memory by cgroup v2, CPU by cgroup v2 in /sys/fs/cgroup/drover',
    });
    expect(limits).toEqual({
      memory: `${200 * 2 ** 20}`,
      cpu: '50000 100000',
      processes: 1,
      service: true,
      rest: '',
    });
    expect(incident).toMatchObject({ type: 'out_of_memory', exit: { signal: 'SIGKILL' } });
    expect(incident.reason).toMatch(/its process ran out of memory and was ended by SIGKILL/);
    // Half of each period, and a bit: the kernel gives it in slices.
    const { usage_usec, nr_periods } = cpu;
    expect(Number(usage_usec) / (Number(nr_periods) * 100_000)).toBeLessThan(0.65);
    expect(health).toBe(200);
    expect(code).toBe(0);
    expect(left).toEqual([]);
  },
);
