import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../src/client/index.js';
import { signInWithToken } from '../model/session.js';
import { rich, t } from '../texts/text.js';
import { KeepSignedIn } from './keep-signed-in.js';

/** Characters that a header cannot have, and a token never has. */
const NO_TOKEN = /[^!-~]/;

/** Signs in with a token. */
export function TokenForm() {
  const [token, setToken] = useState('');
  const [isKept, setKept] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  function refuse(text: string): void {
    setFault(text);
    field.current?.focus();
  }

  async function send(): Promise<void> {
    // Copied with the line break behind it.
    const given = token.trim();
    if (NO_TOKEN.test(given)) return refuse(t('signIn.noToken'));
    setBusy(true);
    setFault(undefined);
    try {
      await signInWithToken(given, isKept);
    } catch (thrown) {
      const isRefused = thrown instanceof ApiError && thrown.status === 401;
      refuse(isRefused ? t('signIn.wrongToken') : (thrown as Error).message);
    } finally {
      setBusy(false);
    }
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '' && !isBusy) void send();
      }}
    >
      <div class="field">
        <label for="sign-in-token">{t('term.token')}</label>
        <input
          id="sign-in-token"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          readOnly={isBusy}
          aria-invalid={fault !== undefined}
          aria-describedby="sign-in-token-state"
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
      </div>
      <div class="sign-in-state" id="sign-in-token-state" aria-live="polite">
        {fault === undefined ? (
          <p class="muted">
            {rich('signIn.tokenHint', { command: <code>drover tokens create</code> })}
          </p>
        ) : (
          <p class="fault">{fault}</p>
        )}
      </div>
      <KeepSignedIn isKept={isKept} onChange={setKept} />
      <button type="submit" class="primary" disabled={isBusy || token.trim() === ''}>
        {isBusy ? t('state.signingIn') : t('signIn.in')}
      </button>
    </form>
  );
}
