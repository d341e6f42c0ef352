import { useEffect, useState } from 'preact/hooks';
import { invitation, invitationFault } from '../model/invitation.js';
import { session } from '../model/session.js';
import { Mark } from '../parts/mark.js';
import { t } from '../texts/text.js';
import { InvitationForm } from './invitation.js';
import { PinForm } from './sign-in-pin.js';
import { TokenForm } from './sign-in-token.js';

export function SignIn() {
  const [isWithToken, setWithToken] = useState(false);
  const { value: invited } = invitation;
  const { value: now } = session;
  const whyOut = now.state === 'out' ? now.reason : null;
  const reason = invitationFault.value ?? (whyOut === null ? null : t(whyOut));
  useEffect(() => {
    document.title = `${t('signIn.in')} · Drover`;
    // Not again at the next sign-out.
    return () => {
      invitationFault.value = null;
    };
  }, []);
  return (
    <main class="sign-in">
      <div class="sign-in-card">
        <div class="sign-in-brand">
          <Mark />
          <h1>Drover</h1>
        </div>
        {reason === null ? null : (
          <p class="notice" role="status">
            {reason}
          </p>
        )}
        {invited ? (
          <InvitationForm offer={invited.offer} />
        ) : (
          <>
            {isWithToken ? <TokenForm /> : <PinForm />}
            <button type="button" class="quiet" onClick={() => setWithToken(!isWithToken)}>
              {isWithToken ? t('signIn.withPin') : t('signIn.withToken')}
            </button>
          </>
        )}
      </div>
    </main>
  );
}
