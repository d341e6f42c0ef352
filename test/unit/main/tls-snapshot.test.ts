import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkTls } from '../../../src/main/environment/tls-snapshot.js';
import { makeCertificate } from '../../harness/certificate.js';
import { makeDir, removeDir } from '../../harness/service.js';

it('refuses a certificate without its key, a missing file, and a key that does not match', () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const first = makeCertificate(dir, 'first', 1);
  const second = makeCertificate(dir, 'second', 2);
  const check = (cert: string | null, key: string | null) => () => checkTls({ cert, key });
  expect(check(first.certPath, null)).toThrow('set both or neither');
  expect(check(null, first.keyPath)).toThrow('set both or neither');
  const missing = join(dir, 'no-such.crt');
  expect(check(missing, first.keyPath)).toThrow(missing);
  expect(check(first.certPath, second.keyPath)).toThrow('mismatch');
  expect(check(first.keyPath, first.keyPath)).toThrow(first.keyPath);
  expect(check(first.certPath, first.keyPath)()).not.toBe('');
});
