// A sign-in link, before it is used: on the page without a session, or as a question in a session.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { LinkOffer } from '../../../src/client/index.js';
import {
  acceptInvitation,
  declineInvitation,
  invitation,
  invitationFault,
} from '../model/invitation.js';
import { Confirm } from '../parts/dialog.js';
import { sayError } from '../parts/toasts.js';
import { Access, Until } from '../parts/token-facts.js';
import { t } from '../texts/text.js';
import { KeepSignedIn } from './keep-signed-in.js';

/** Shown instead of the PIN. */
export function InvitationForm({ offer }: { offer: LinkOffer | null }) {
  const [isKept, setKept] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), [offer]);
  if (offer === null) return <p role="status">{t('invitation.checking')}</p>;
  return (
    <form
      data-invitation
      onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        void acceptInvitation(isKept);
      }}
    >
      <Offer offer={offer} />
      <KeepSignedIn isKept={isKept} onChange={setKept} />
      <button ref={button} type="submit" class="primary" disabled={isBusy}>
        {isBusy ? t('state.signingIn') : t('signIn.in')}
      </button>
      <button type="button" class="quiet" disabled={isBusy} onClick={declineInvitation}>
        {t('invitation.refuse')}
      </button>
    </form>
  );
}

/** For a browser that is signed in already. */
export function InvitationQuestion() {
  const [isBusy, setBusy] = useState(false);
  const { value: fault } = invitationFault;
  useEffect(() => {
    if (fault === null) return;
    sayError(fault);
    declineInvitation();
  }, [fault]);
  const offer = invitation.value?.offer ?? null;
  if (offer === null) return null;
  return (
    <Confirm
      title={t('invitation.title')}
      action={t('signIn.in')}
      isDangerous
      isBusy={isBusy}
      onYes={() => {
        setBusy(true);
        void acceptInvitation(false).finally(() => setBusy(false));
      }}
      onClose={declineInvitation}
    >
      <Offer offer={offer} />
      <p>{t('invitation.signedIn')}</p>
      <p>{t('signIn.unexpected')}</p>
    </Confirm>
  );
}

function Offer({ offer }: { offer: LinkOffer }) {
  const { created_by, expires_at_ms, link_expires_at_ms } = offer;
  return (
    <>
      <p>
        <strong class="anywhere">{created_by}</strong> {t('invitation.made')}
      </p>
      <dl class="facts">
        <Access of={offer} />
        {expires_at_ms === null ? null : (
          <div>
            <dt>{t('invitation.accessEnds')}</dt>
            <dd>
              <Until at={expires_at_ms} />
            </dd>
          </div>
        )}
        <div>
          <dt>{t('invitation.linkExpires')}</dt>
          <dd>
            <Until at={link_expires_at_ms} />
          </dd>
        </div>
      </dl>
    </>
  );
}
