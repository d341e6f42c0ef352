// Runs in main. Owns certificate and key as they were when they were read: a front that is started later gets what the others
// have, and not what lies in the operator's files by then.

import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, unlinkSync, writeSync } from 'node:fs';
import type { Config } from '../shared/contract/config.js';
import { checkTls, readTls } from '../shared/tls.js';

/** Memory that looks like files. */
const MEMORY = '/dev/shm';

/**
 * uWebSockets.js takes nothing but names of files. On Linux there are files in memory that have lost their name: what is in
 * them is reached by their descriptor, in this process alone, and is gone with it. Elsewhere it is the operator's files.
 */
export class TlsSnapshot {
  /** What the fronts are to read. */
  readonly files: Config['tls'];
  readonly #tls: Config['tls'];
  readonly #descriptors: number[] = [];
  /** Of what is held; undefined where nothing is. */
  readonly #digest: string | undefined;

  /** @throws StartupError as checkTls does. */
  constructor(tls: Config['tls']) {
    this.#tls = tls;
    this.files = tls;
    const read = readTls(tls);
    if (!read || process.platform !== 'linux') return;
    const cert = this.#hold(read.cert);
    const key = this.#hold(read.key);
    if (cert !== undefined && key !== undefined) {
      this.files = { cert, key };
      this.#digest = read.digest;
    } else this.release();
  }

  /** The digest of what is in {@link files} now. @throws StartupError */
  check(): string {
    return this.#digest ?? checkTls(this.#tls);
  }

  /** A message about {@link files}, as one about the operator's. */
  named(message: string): string {
    const { cert, key } = this.files;
    if (cert === null || key === null) return message;
    return message.replace(cert, `${this.#tls.cert}`).replace(key, `${this.#tls.key}`);
  }

  /** No front is to read it any more. */
  release(): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
  }

  #hold(bytes: Buffer): string | undefined {
    try {
      const name = `${MEMORY}/drover-${randomBytes(12).toString('hex')}`;
      const descriptor = openSync(name, 'wx', 0o600);
      this.#descriptors.push(descriptor);
      unlinkSync(name);
      writeSync(descriptor, bytes);
      const path = `/proc/self/fd/${descriptor}`;
      return existsSync(path) ? path : undefined;
    } catch {
      // There is no such memory here.
      return undefined;
    }
  }
}
