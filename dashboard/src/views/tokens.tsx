import { useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, type NewToken, type TokenInfo } from '../../../src/client/index.js';
import { useResource } from '../model/resource.js';
import { api, signOut } from '../model/session.js';
import { creatorText, placeText } from '../model/token-text.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { say, sayError } from '../parts/toasts.js';
import { Ago, Expiry, Limits, Scopes } from '../parts/token-facts.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';
import {
  CreatedLink,
  CreatedToken,
  CreateLink,
  CreateToken,
  type NamedLink,
} from './create-token.js';

const RELOAD_MS = 15_000;

export function TokensView() {
  const { value, error, reload } = useResource(
    (signal) => api().tokens.list({ signal }),
    [],
    RELOAD_MS,
  );
  const [creating, setCreating] = useState<'token' | 'link'>();
  const [created, setCreated] = useState<NewToken>();
  const [link, setLink] = useState<NamedLink>();
  const [revoking, setRevoking] = useState<TokenInfo>();
  // Revoking removes the row with the focused button.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  const isForbidden = error instanceof ApiError && error.status === 403;
  useKeys('Tokens', [
    { keys: 'n', does: 'New token', run: () => !isForbidden && setCreating('token') },
    { keys: 'i', does: 'New sign-in link', run: () => !isForbidden && setCreating('link') },
  ]);

  const revoke = async (token: TokenInfo): Promise<void> => {
    setRevoking(undefined);
    try {
      if (token.current) return await signOut();
      await api().tokens.revoke(token.id);
      say(`${token.name} revoked`);
      reload();
    } catch (thrown) {
      sayError(thrown, `Could not revoke ${token.name}`);
    }
  };

  return (
    <>
      <ViewHead title="Tokens" note={value ? value.length.toLocaleString('en') : undefined}>
        <button type="button" disabled={isForbidden} onClick={() => setCreating('link')}>
          <Icon name="link" />
          Sign-in link
        </button>
        <button
          type="button"
          class="primary"
          disabled={isForbidden}
          onClick={() => setCreating('token')}
        >
          <Icon name="add" />
          New token
        </button>
      </ViewHead>
      <div class="page">
        {value ? (
          <TokenTable tokens={value} onRevoke={setRevoking} />
        ) : isForbidden ? (
          <p class="empty muted">You need the scope “admin” to see tokens.</p>
        ) : (
          <p class="empty muted">{error ? error.message : 'Loading…'}</p>
        )}
      </div>
      {creating === 'link' ? (
        <CreateLink
          onClose={() => setCreating(undefined)}
          onCreated={(made) => {
            setCreating(undefined);
            setLink(made);
          }}
        />
      ) : null}
      {link ? <CreatedLink link={link} onClose={() => setLink(undefined)} /> : null}
      {creating === 'token' ? (
        <CreateToken
          onClose={() => setCreating(undefined)}
          onCreated={(token) => {
            setCreating(undefined);
            setCreated(token);
            reload();
          }}
        />
      ) : null}
      {created ? <CreatedToken token={created} onClose={() => setCreated(undefined)} /> : null}
      {revoking ? (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          action="Revoke"
          isDangerous
          onYes={() => void revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          {revoking.current ? (
            <p>
              <strong>You are signed in with this token.</strong> Revoking it signs out all tabs of
              this browser.
            </p>
          ) : null}
          <p>
            Every client that uses this token loses access immediately, and its streams are closed.
            This cannot be undone.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}

function TokenTable({
  tokens,
  onRevoke,
}: {
  tokens: readonly TokenInfo[];
  onRevoke: (token: TokenInfo) => void;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard
    <section class="table-box" tabIndex={0} aria-label="Tokens">
      <table class="tokens">
        <thead>
          <tr>
            <th>Name</th>
            <th>Scopes</th>
            <th>Restricted to</th>
            <th>Created</th>
            <th>Last used</th>
            <th>Expires</th>
            <th>
              <span class="unseen">Revoke</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id} data-token={token.name}>
              <td class="token-name">
                {token.name} {token.current ? <span class="tag">this browser</span> : null}
              </td>
              <td>
                <Scopes scopes={token.scopes} />
              </td>
              <td class="token-limits" data-title="restricted to">
                <Limits of={token} />
              </td>
              <td data-title="created">
                <span class="two-lines">
                  <Ago at={token.created_at_ms} />
                  <small class="muted">{creatorText(token)}</small>
                </span>
              </td>
              <td data-title="last used">
                <LastUse token={token} />
              </td>
              <td data-title="expires">
                <Expiry of={token} />
              </td>
              <td class="token-end">
                <button
                  type="button"
                  class="danger quiet"
                  aria-label={`Revoke ${token.name}`}
                  onClick={() => onRevoke(token)}
                >
                  <Icon name="delete" />
                  Revoke
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function LastUse({ token: { last_used_at_ms: at, last_used_from: from } }: { token: TokenInfo }) {
  if (at === null) return <span class="muted">never</span>;
  return (
    <span class="two-lines">
      <Ago at={at} />
      {from === null ? null : <small class="muted">{placeText(from)}</small>}
    </span>
  );
}
