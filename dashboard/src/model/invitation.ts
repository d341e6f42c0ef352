// Runs in tabs. Owns the sign-in link that this page was opened with. Any page can link to this one, so only the user may use it.

import { signal } from '@preact/signals';
import { ApiError, type LinkOffer } from '../../../src/client/index.js';
import { t } from '../texts/text.js';
import { replace } from './route.js';
import { beginSession, stranger } from './session.js';

const START = '#sign-in=';
/** Time limit of the check, in ms. */
const ANSWER_MS = 10_000;

export interface Invitation {
  link: string;
  /** What it gives; null until the service has answered. */
  offer: LinkOffer | null;
}

export const invitation = signal<Invitation | null>(null);
/** Why a link was not used. */
export const invitationFault = signal<string | null>(null);

/** To be called when the page loads. */
export function watchForInvitation(): void {
  takeFromAddress();
  window.addEventListener('hashchange', takeFromAddress);
}

/** `#sign-in=…` is removed from the address and the history before anything else happens. */
function takeFromAddress(): void {
  if (!location.hash.startsWith(START)) return;
  const link = location.hash.slice(START.length);
  replace('#/overview');
  void check({ link, offer: null });
}

async function check(taken: Invitation): Promise<void> {
  invitation.value = taken;
  invitationFault.value = null;
  try {
    const { link } = taken;
    const offer = await stranger.checkLink(link, { signal: AbortSignal.timeout(ANSWER_MS) });
    // Not when another link was opened meanwhile.
    if (invitation.value === taken) invitation.value = { link, offer };
  } catch (thrown) {
    if (invitation.value === taken) refuse(thrown);
  }
}

/** Signs in. A link that does not work is dropped, and {@link invitationFault} says why. */
export async function acceptInvitation(isPersistent: boolean): Promise<void> {
  const { value: accepted } = invitation;
  if (accepted === null) return;
  try {
    const { token } = await stranger.useLink(accepted.link);
    invitation.value = null;
    beginSession(token, isPersistent);
  } catch (thrown) {
    refuse(thrown);
  }
}

export function declineInvitation(): void {
  invitation.value = null;
  invitationFault.value = null;
}

function refuse(thrown: unknown): void {
  invitation.value = null;
  const isUsed = thrown instanceof ApiError && thrown.status === 401;
  const reason = (thrown as Error).message;
  invitationFault.value = isUsed ? t('invitation.used') : t('invitation.failed', { reason });
}
