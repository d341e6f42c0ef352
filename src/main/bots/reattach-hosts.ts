import type { HostedState } from '../../shared/contract/host-messages.js';
import type { BroadcasterPeer } from '../../shared/contract/threads.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { HostThread, Reattached } from '../threads/host-thread.js';
import { sessionItem } from '../threads/service-events.js';

/** How long a new broadcaster waits for what a host knows about its bots, in ms. */
const WITHIN_MS = 500;

/**
 * Gives hosts a channel to a new broadcaster.
 * @param restore is called with what the hosts know about their bots, before any of their new events is accepted.
 */
export async function reattachHosts(
  hosts: readonly HostThread[],
  broadcaster: BroadcasterPeer,
  restore: (hosted: HostedState[]) => void,
): Promise<void> {
  const attempts = hosts.map((host) =>
    // A host that is lost meanwhile gets its channel when it is replaced.
    host.reattach(broadcaster).catch(() => undefined),
  );
  // The stream continues without a host that hangs, and so does the watchdog, which has to find it.
  const answers = await Promise.all(
    attempts.map((attempt) => withTimeout(attempt, WITHIN_MS, () => undefined)),
  );
  restore(answers.flatMap((answer) => answer?.bots ?? []));
  for (const [n, attempt] of attempts.entries()) {
    if (answers[n]) answers[n].attach();
    else void attempt.then((late) => late && attachLate(broadcaster, late));
  }
}

/** The broadcaster did not have the states of these bots when it was restored. */
function attachLate(broadcaster: BroadcasterPeer, { bots, attach }: Reattached): void {
  const items = bots.map(({ id, ...patch }) => sessionItem(id, patch));
  broadcaster.tell('publish', { items });
  attach();
}
