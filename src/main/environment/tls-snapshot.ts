// Runs in main. Owns certificate and key as they were when they were read: a front that is started later gets what the others
// use, even if the operator's files have changed since.

import { createHash, randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import type { Config } from '../../shared/contract/config.js';
import { messageOf, StartupError } from '../../shared/errors.js';

/** The folder of Linux whose files are in memory. */
const MEMORY = '/dev/shm';

/** Paths of the files; both are null without TLS. */
type TlsPaths = Pick<Config['tls'], 'cert' | 'key'>;

/**
 * Makes sure that both files are configured or neither, that they can be read, and that they belong together.
 * @returns a digest of their contents. @throws StartupError
 */
export function checkTls(tls: TlsPaths): string {
  return readTls(tls)?.digest ?? '';
}

/** The contents of the files, checked; undefined without TLS. @throws StartupError */
function readTls({
  cert,
  key,
}: TlsPaths): { cert: Buffer; key: Buffer; digest: string } | undefined {
  if (cert === null && key === null) return undefined;
  if (cert === null || key === null) {
    throw new StartupError('tls.cert and tls.key are of use together only; set both or neither');
  }
  try {
    const files = { cert: readFileSync(cert), key: readFileSync(key) };
    // Not imported: a start without TLS does not need it.
    process.getBuiltinModule('node:tls').createSecureContext(files);
    const hash = createHash('sha256').update(files.cert).update('\0').update(files.key);
    return { ...files, digest: hash.digest('hex') };
  } catch (thrown) {
    throw new StartupError(
      `TLS cannot use the certificate ${cert} with the key ${key}: ${messageOf(thrown)}`,
    );
  }
}

/**
 * uWebSockets.js accepts file names only. On Linux the snapshot is a pair of unlinked files in memory: they are reached by
 * their descriptors, from this process alone, and disappear with it. Elsewhere it is the operator's files.
 */
export class TlsSnapshot {
  /** The files that the fronts read. */
  readonly files: TlsPaths;
  readonly #tls: TlsPaths;
  readonly #descriptors: number[] = [];
  /** Digest of the snapshot; undefined where the operator's files are used. */
  readonly #digest: string | undefined;

  /** @throws StartupError as checkTls does. */
  constructor(tls: TlsPaths) {
    this.#tls = tls;
    this.files = { cert: tls.cert, key: tls.key };
    const read = readTls(tls);
    if (!read || process.platform !== 'linux') return;
    const cert = this.#copy(read.cert);
    const key = this.#copy(read.key);
    if (cert !== undefined && key !== undefined) {
      this.files = { cert, key };
      this.#digest = read.digest;
    } else this.release();
  }

  /** A digest of the contents of {@link files} now. @throws StartupError */
  check(): string {
    return this.#digest ?? checkTls(this.#tls);
  }

  /** Replaces the names of {@link files} in a message with those of the operator's files. */
  named(message: string): string {
    const { cert, key } = this.files;
    if (cert === null || key === null) return message;
    return message.replace(cert, `${this.#tls.cert}`).replace(key, `${this.#tls.key}`);
  }

  /** Call it when no front reads it any more. */
  release(): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
  }

  #copy(bytes: Buffer): string | undefined {
    try {
      const name = `${MEMORY}/drover-${randomBytes(12).toString('hex')}`;
      const descriptor = openSync(name, 'wx', 0o600);
      this.#descriptors.push(descriptor);
      unlinkSync(name);
      writeSync(descriptor, bytes);
      const path = `/proc/self/fd/${descriptor}`;
      return existsSync(path) ? path : undefined;
    } catch {
      // This system has no files in memory.
      return undefined;
    }
  }
}
