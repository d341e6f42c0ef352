// Runs in tabs. Owns the dialogs about the signed-in user, and asks before a sign-out.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { TokenInfo } from '../../../src/client/index.js';
import { ownToken } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { api, signOut } from '../model/session.js';
import { clientText, creatorText, isSignIn } from '../model/token-text.js';
import { Confirm, Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { sayError } from '../parts/toasts.js';
import { Access, Ago, Expiry } from '../parts/token-facts.js';
import { Unanswered } from '../parts/unanswered.js';
import { rich, t } from '../texts/text.js';

/** Time limit of the request for the token's properties, in ms. */
const ANSWER_MS = 2000;

const isOpen = signal(false);
/** The token that the user is asked about before the sign-out. */
const leaving = signal<TokenInfo | null>(null);

/** In the menu. */
export function WhoAmI() {
  return (
    <>
      <button type="button" class="quiet" title={t('who.what')} onClick={openWhoAmI}>
        <Icon name="person" />
        <span class="own-name">{ownToken.value?.name ?? t('who.title')}</span>
      </button>
      <button type="button" class="quiet wide-only" onClick={() => void askToLeave()}>
        <Icon name="out" />
        <span>{t('signIn.out')}</span>
      </button>
    </>
  );
}

export function openWhoAmI(): void {
  isOpen.value = true;
}

/** What the buttons of the menu open. */
export function WhoAmIDialogs() {
  useEffect(() => closeAll, []);
  return (
    <>
      {isOpen.value ? <Card /> : null}
      {leaving.value ? <Leave token={leaving.value} /> : null}
    </>
  );
}

function closeAll(): void {
  isOpen.value = false;
  leaving.value = null;
}

/** Others may use a token that was not made by signing in: it is revoked only if the user asks for it. */
export async function askToLeave(): Promise<void> {
  closeAll();
  const token = await knownToken();
  if (token && !isSignIn(token)) leaving.value = token;
  else leave(true);
}

function Card() {
  const answer = useResource((signal) => api().tokens.current({ signal }), []);
  return (
    <Dialog title={t('who.title')} onClose={closeAll}>
      <div class="dialog-body">
        <Unanswered of={answer} />
        {answer.value ? <Facts token={answer.value} /> : null}
      </div>
      <footer>
        <button type="button" onClick={() => void askToLeave()}>
          <Icon name="out" />
          {t('signIn.out')}
        </button>
        <button type="button" class="primary" data-first onClick={closeAll}>
          {t('button.done')}
        </button>
      </footer>
    </Dialog>
  );
}

function Facts({ token }: { token: TokenInfo }) {
  const { created_at_ms, last_used_from: from } = token;
  return (
    <dl class="facts" data-who-am-i>
      <Access of={token} isInFull />
      <div>
        <dt>{t('term.created')}</dt>
        <dd class="anywhere">
          <Ago at={created_at_ms} /> {creatorText(token)}
        </dd>
      </div>
      <div>
        <dt>{t('term.expires')}</dt>
        <dd>
          <Expiry of={token} />
        </dd>
      </div>
      {from === null ? null : (
        <div>
          <dt>{t('who.hereAs')}</dt>
          <dd class="anywhere">{clientText(from)}</dd>
        </div>
      )}
    </dl>
  );
}

function Leave({ token }: { token: TokenInfo }) {
  return (
    <Confirm
      title={t('signIn.out')}
      action={t('signIn.outAndRevoke')}
      isDangerous
      onYes={() => leave(true)}
      onClose={closeAll}
      other={{ action: t('signIn.out'), run: () => leave(false) }}
    >
      <p>{rich('who.sharedToken', { token: <strong class="anywhere">{token.name}</strong> })}</p>
      <p>{t('who.revokeHint')}</p>
    </Confirm>
  );
}

/** Undefined if the service does not answer: then there is no choice to offer. */
async function knownToken(): Promise<TokenInfo | undefined> {
  const { value: known } = ownToken;
  if (known) return known;
  const signal = AbortSignal.timeout(ANSWER_MS);
  return api()
    .tokens.current({ signal })
    .catch(() => undefined);
}

function leave(isRevoked: boolean): void {
  signOut(isRevoked).catch((thrown: unknown) => sayError(thrown, t('who.notRevoked')));
}
