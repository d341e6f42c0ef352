// Self-signed certificates for the benches over TLS.

import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAtExit } from './child.js';

/** Paths of PEM files. */
export interface Certificate {
  cert: string;
  key: string;
}

/** A certificate for this run, on the curve P-256. @throws Error without the command `openssl`. */
export function makeCertificate(): Certificate {
  const directory = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  removeAtExit(directory);
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const named = ['-subj', '/CN=localhost', '-days', '1', '-out', files.cert, '-keyout', files.key];
  execFileSync('openssl', [...args, ...named], { stdio: 'pipe' });
  return files;
}
