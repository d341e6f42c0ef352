// The descriptors of this process that children get, on Linux.

import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  closeOnExec,
  type DescriptorCalls,
  openForThisProcess,
} from '../../../src/shared/close-on-exec.js';
import { openFile } from '../../../src/shared/lmdb/open-file.js';
import { skipWithout } from '../../harness/needs.js';

const CLOEXEC = 0o2000000;
const F_SETFD = 2;

interface Koffi {
  load(library: null): {
    func(name: string, result: string, parameters: string[]): DescriptorCalls['fcntl'];
  };
}

function fcntl(): DescriptorCalls['fcntl'] {
  const koffi = createRequire(import.meta.url)(`@koromix/koffi-linux-${process.arch}`) as Koffi;
  return koffi.load(null).func('fcntl', 'int', ['int', 'int', 'int']);
}

function isClosedOnExec(fd: number): boolean {
  const [, flags = ''] =
    /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
  return (Number.parseInt(flags, 8) & CLOEXEC) !== 0;
}

/** A descriptor that children get. */
function openInherited(): number {
  const fd = openSync('/dev/null', 'r');
  onTestFinished(() => closeSync(fd));
  expect(fcntl()(fd, F_SETFD, 0)).toBe(0);
  expect(isClosedOnExec(fd)).toBe(false);
  return fd;
}

const targetsOfChild = (): string =>
  execFileSync('sh', ['-c', 'ls -l /proc/$$/fd; :'], { encoding: 'utf8' });

it('no child gets what was opened, nor any other descriptor', (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const other = openInherited();
  const opened = openForThisProcess(openInherited, closeSync);
  expect([other, opened].map(isClosedOnExec)).toEqual([true, true]);
});

it('does so too where the system cannot do it at once', (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const other = openInherited();
  closeOnExec({ closeRange: () => -1, fcntl: fcntl() });
  expect(isClosedOnExec(other)).toBe(true);
});

it('a child gets no descriptor of an LMDB file', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-exec-'));
  const file = openFile(path.join(dir, 'store.mdb'), {}, 65_536);
  onTestFinished(async () => {
    await file.close();
    rmSync(dir, { recursive: true, force: true });
  });
  expect(targetsOfChild()).not.toContain(dir);
});
