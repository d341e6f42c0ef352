import { useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, type NewToken, type TokenInfo } from '../../../src/client/index.js';
import { useResource } from '../model/resource.js';
import { api, signOut } from '../model/session.js';
import { age, fullTime, second, serverNow, span } from '../model/time.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { Labels } from '../parts/labels.js';
import { say, sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';
import { CreatedToken, CreateToken } from './create-token.js';

const RELOAD_MS = 15_000;

export function TokensView() {
  const { value, error, reload } = useResource(
    (signal) => api().tokens.list({ signal }),
    [],
    RELOAD_MS,
  );
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<NewToken>();
  const [revoking, setRevoking] = useState<TokenInfo>();
  // Revoking removes the row with the focused button.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  useKeys('Tokens', [{ keys: 'n', does: 'New token', run: () => setCreating(true) }]);
  const isForbidden = error instanceof ApiError && error.status === 403;

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
        <button
          type="button"
          class="primary"
          disabled={isForbidden}
          onClick={() => setCreating(true)}
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
      {isCreating ? (
        <CreateToken
          onClose={() => setCreating(false)}
          onCreated={(token) => {
            setCreating(false);
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
  void second.value;
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
                {token.name} {token.current ? <span class="tag">this session</span> : null}
              </td>
              <td>
                {token.scopes.map((scope) => (
                  <span key={scope} class={`tag scope-${scope}`}>
                    {scope}
                  </span>
                ))}
              </td>
              <td class="token-limits" data-title="restricted to">
                <Limits token={token} />
              </td>
              <td data-title="created">
                <Ago at={token.created_at_ms} />
              </td>
              <td data-title="last used">
                {token.last_used_at_ms === null ? (
                  <span class="muted">never</span>
                ) : (
                  <Ago at={token.last_used_at_ms} />
                )}
              </td>
              <td data-title="expires">
                {token.expires_at_ms === null ? (
                  <span class="muted">never</span>
                ) : (
                  <Until at={token.expires_at_ms} />
                )}
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

function Ago({ at }: { at: number }) {
  return <time title={fullTime(at)}>{age(at)} ago</time>;
}

function Until({ at }: { at: number }) {
  const left = at - serverNow();
  return <time title={fullTime(at)}>{left <= 0 ? 'expired' : `in ${span(left)}`}</time>;
}

function Limits({ token: { bots, labels } }: { token: TokenInfo }) {
  if (labels) return <Labels labels={labels} />;
  if (!bots) return <span class="muted">all bots</span>;
  return (
    <span title={bots.join(', ')}>
      {bots.length === 1 ? bots[0] : `${bots[0]} and ${bots.length - 1} more`}
    </span>
  );
}
