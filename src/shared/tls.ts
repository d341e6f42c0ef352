// Runs in main. Owns what is checked of certificate and key before the fronts use them, and that all of them do or none.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Config } from './contract/config.js';
import { messageOf, StartupError } from './errors.js';
import { withTimeout } from './with-timeout.js';

/**
 * Makes sure that there are both files or neither, that they can be read, and that they belong together.
 * @returns a digest of what is in them. @throws StartupError
 */
export function checkTls(tls: Config['tls']): string {
  return readTls(tls)?.digest ?? '';
}

/** What is in the files, once it is checked; undefined without TLS. @throws StartupError */
export function readTls({
  cert,
  key,
}: Config['tls']): { cert: Buffer; key: Buffer; digest: string } | undefined {
  if (cert === null && key === null) return undefined;
  if (cert === null || key === null) {
    throw new StartupError('tls.cert and tls.key are of use together only; set both or neither');
  }
  try {
    const files = { cert: readFileSync(cert), key: readFileSync(key) };
    createSecureContext(files);
    const hash = createHash('sha256').update(files.cert).update('\0').update(files.key);
    return { ...files, digest: hash.digest('hex') };
  } catch (thrown) {
    throw new StartupError(
      `TLS cannot use the certificate ${cert} with the key ${key}: ${messageOf(thrown)}`,
    );
  }
}

/** How long each of them may take for a step, in ms: one that hangs must not keep the others from it for ever. */
const STEP_WITHIN_MS = 10_000;

/** Whoever uses certificate and key: a front. */
export interface TlsUser {
  name: string;
  /** Reads the files; nothing changes by it. Rejects when it cannot use them. */
  prepare(): Promise<void>;
  /** Uses what it has read, or forgets it. */
  settle(apply: boolean): Promise<void>;
}

/**
 * Has all of them use what is in the files now, or none: each reads and checks first.
 * @param check looks at the files and tells their contents' digest. @param accepted is called when
 * all can use them, before they do. @param withinMs how long one may take for each step. @throws Error that says in a line what has happened.
 */
export async function changeTls(
  users: readonly TlsUser[],
  check: () => string,
  accepted: () => void = () => {},
  withinMs = STEP_WITHIN_MS,
): Promise<void> {
  const within = (user: TlsUser, step: Promise<void>): Promise<void> =>
    withTimeout(step, withinMs, () => {
      throw new Error(`${user.name} does not answer`);
    });
  const settle = (apply: boolean): Promise<PromiseSettledResult<void>[]> =>
    Promise.allSettled(users.map((user) => within(user, user.settle(apply))));
  try {
    const digest = check();
    await Promise.all(users.map((user) => within(user, user.prepare())));
    // Each has read them at a moment of its own.
    if (check() !== digest) throw new Error('the files were changed while they were read');
  } catch (thrown) {
    // One that prepares late finds this behind it.
    await settle(false);
    throw new Error(`certificate and key stay as they were: ${messageOf(thrown)}`);
  }
  accepted();
  const settled = await settle(true);
  const failed = settled.flatMap((result, at) =>
    result.status === 'rejected' ? `${users[at]?.name} (${messageOf(result.reason)})` : [],
  );
  if (failed.length > 0) {
    throw new Error(`certificate and key stay as they were in ${failed.join(', ')}`);
  }
}

/** Whether an address to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === 'localhost' || host === '::1';
}
