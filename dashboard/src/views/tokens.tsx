// Owns the tokens: all that there are, revoking one.

import { useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, type NewToken, type TokenInfo } from '../../../src/client/index.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { age, fullTime, second, serverNow, span } from '../model/time.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { Labels } from '../parts/labels.js';
import { say, sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';
import { CreateToken, MadeToken } from './create-token.js';

const RELOAD_MS = 15_000;
export function TokensView() {
  const { value, error, reload } = useResource(
    (signal) => api().tokens.list({ signal }),
    [],
    RELOAD_MS,
  );
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<NewToken>();
  const [leaving, setLeaving] = useState<TokenInfo>();
  // The button that a token was revoked with goes with its row, and the focus with it.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  useKeys('Tokens', [{ keys: 'n', does: 'New token', run: () => setCreating(true) }]);
  const isForbidden = error instanceof ApiError && error.status === 403;

  const revoke = async (token: TokenInfo): Promise<void> => {
    setLeaving(undefined);
    try {
      await api().tokens.revoke(token.id);
      say(`${token.name} revoked`);
      reload();
    } catch (thrown) {
      sayError(thrown, `Revoke ${token.name}`);
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
          <TokenTable tokens={value} onRevoke={setLeaving} />
        ) : isForbidden ? (
          <p class="empty muted">Only a token with the scope admin sees the others.</p>
        ) : (
          <p class="empty muted">{error ? error.message : 'Loading …'}</p>
        )}
      </div>
      {isCreating ? (
        <CreateToken
          onClose={() => setCreating(false)}
          onMade={(token) => {
            setCreating(false);
            setMade(token);
            reload();
          }}
        />
      ) : null}
      {made ? <MadeToken token={made} onClose={() => setMade(undefined)} /> : null}
      {leaving ? (
        <Confirm
          title={`Revoke ${leaving.name}?`}
          action="Revoke"
          isDangerous
          onYes={() => void revoke(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          <p>
            Whoever has it is shut out at once, and its streams are closed. There is no way back.
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    <section class="table-box" tabIndex={0} aria-label="Tokens">
      <table class="tokens">
        <thead>
          <tr>
            <th>Name</th>
            <th>Scopes</th>
            <th>Limited to</th>
            <th>Made</th>
            <th>Last used</th>
            <th>Runs out</th>
            <th>
              <span class="unseen">Revoke</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id} data-token={token.name}>
              <td class="token-name">{token.name}</td>
              <td>
                {token.scopes.map((scope) => (
                  <span key={scope} class={`tag scope-${scope}`}>
                    {scope}
                  </span>
                ))}
              </td>
              <td class="token-limits" data-title="limited to">
                <Limits token={token} />
              </td>
              <td data-title="made">
                <Ago at={token.created_at_ms} />
              </td>
              <td data-title="last used">
                {token.last_used_at_ms === null ? (
                  <span class="muted">never</span>
                ) : (
                  <Ago at={token.last_used_at_ms} />
                )}
              </td>
              <td data-title="runs out">
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
  return <time title={fullTime(at)}>{left <= 0 ? 'has run out' : `in ${span(left)}`}</time>;
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
