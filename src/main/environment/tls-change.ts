import { messageOf } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';

/** How long one front may take for each step, in ms: one that hangs must not hold up the others for ever. */
const STEP_WITHIN_MS = 10_000;

/** A front, as the change of a certificate sees it. */
export interface TlsUser {
  name: string;
  /** Loads the files. Connections keep using the old ones. Rejects when it cannot use the new ones. */
  prepare(): Promise<void>;
  /** Uses what was prepared for new connections. */
  commit(): Promise<void>;
  /** Discards what was prepared, if anything. */
  rollback(): Promise<void>;
}

/**
 * Has all fronts use the certificate and key that the files hold now, or none: a front whose TLS library refuses them must not
 * be the only one left with the old ones.
 * @param check reads the files and returns a digest of their contents. @param accepted is called when all fronts can use them,
 * before they do. @param withinMs how long one front may take for each step. @throws Error that says in one line what happened.
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
  try {
    const digest = check();
    await Promise.all(users.map((user) => within(user, user.prepare())));
    // Each front has read them at a different moment.
    if (check() !== digest) throw new Error('the files were changed while they were read');
  } catch (thrown) {
    // Messages keep their order: a front that prepares late rolls back after that.
    await Promise.allSettled(users.map((user) => within(user, user.rollback())));
    throw new Error(`certificate and key stay as they were: ${messageOf(thrown)}`);
  }
  accepted();
  const committed = await Promise.allSettled(users.map((user) => within(user, user.commit())));
  const failed = committed.flatMap((result, at) =>
    result.status === 'rejected' ? `${users[at]?.name} (${messageOf(result.reason)})` : [],
  );
  if (failed.length > 0) {
    throw new Error(`certificate and key stay as they were in ${failed.join(', ')}`);
  }
}
