// What other users of the machine could do with a data directory, and with the files that are written in it.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { RecordingWriter } from '../../../src/cli/recording/recording-file.js';
import { expectPrivate, removePin, writePin } from '../../../src/main/environment/data-dir.js';
import { writePrivateFile } from '../../../src/shared/private-file.js';
import { Numbering } from '../../../src/shared/stream/numbering.js';
import { makeDir, removeDir } from '../../harness/service.js';

let dir: string;
let outside: string;
beforeEach((context) => {
  const base = makeDir();
  dir = path.join(base, 'data');
  outside = path.join(base, 'outside');
  mkdirSync(dir);
  context.onTestFinished(() => removeDir(base));
});

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe.skipIf(process.platform === 'win32')('a data directory', () => {
  it('is refused if all users can write to it, also with the sticky bit; its group may', () => {
    for (const mode of [0o777, 0o1777, 0o702]) {
      chmodSync(dir, mode);
      expect(() => expectPrivate(dir)).toThrow(`run chmod 700 ${dir}, or`);
    }
    for (const mode of [0o700, 0o755, 0o2775]) {
      chmodSync(dir, mode);
      expectPrivate(dir);
    }
  });

  it('has a PIN in pin.txt that goes nowhere else', () => {
    symlinkSync(outside, path.join(dir, `pin.txt.${process.pid}.tmp`));
    symlinkSync(outside, path.join(dir, 'pin.txt'));
    expect(readFileSync(writePin(dir, '123456'), 'utf8')).toBe('123456\n');
    expect(existsSync(outside)).toBe(false);
    expect(modeOf(path.join(dir, 'pin.txt'))).toBe('600');
  });

  it('loses its PIN, also one that was not completed, and nothing else', () => {
    writePin(dir, '123456');
    writeFileSync(path.join(dir, 'pin.txt.0123456789abcdef.tmp'), '12');
    writeFileSync(path.join(dir, 'pin.txt.bak'), '');
    removePin(dir);
    expect(readdirSync(dir)).toEqual(['pin.txt.bak']);
  });

  it('has a numbering of the stream that is not written through a link', () => {
    const before = path.join(dir, 'before');
    Numbering.begin(before);
    for (const name of readdirSync(before)) symlinkSync(outside, path.join(dir, name));
    expect(() => Numbering.begin(dir)).toThrow('EEXIST');
    expect(existsSync(outside)).toBe(false);
  });
});

describe.skipIf(process.platform === 'win32')('a file with what others must not see', () => {
  it('is replaced with mode 0600, and left as it was when it cannot be', () => {
    const file = path.join(dir, 'file');
    writeFileSync(file, 'old', { mode: 0o644 });
    writePrivateFile(file, 'new');
    expect([readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['new', '600']);
    const folder = path.join(dir, 'folder');
    mkdirSync(folder);
    expect(() => writePrivateFile(folder, 'new')).toThrow();
    expect(readdirSync(dir).sort()).toEqual(['file', 'folder']);
  });

  it('is a recording, a new one and one that replaces a file that all may read', async () => {
    const file = path.join(dir, 'run.ndjson');
    const head = { started_at_ms: 1, url: 'http://localhost:8090', filter: null };
    const how = { by: 'time' as const, disconnects: 0, missing: null };
    for (const replaces of [false, true]) {
      const writer = await RecordingWriter.open(file, head, replaces);
      await writer.end(how);
      expect(modeOf(file)).toBe('600');
      chmodSync(file, 0o644);
    }
  });
});
