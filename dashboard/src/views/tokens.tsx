// Owns the tokens: all that there are, a new one, revoking one.

import { useState } from 'preact/hooks';
import {
  ApiError,
  type CreateTokenBody,
  type NewToken,
  type Scope,
  type TokenInfo,
} from '../../../src/client/index.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { age, fullTime, second, serverNow, span } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { Confirm, Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { Labels, parseLabels } from '../parts/labels.js';
import { say, sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';

const RELOAD_MS = 15_000;
const SCOPES: { name: Scope; means: string }[] = [
  { name: 'read', means: 'see bots and their events' },
  { name: 'control', means: 'add, change, start, stop and delete bots' },
  { name: 'invoke', means: 'send commands' },
  { name: 'admin', means: 'everything, and alone: tokens' },
];
const EXPIRIES = [
  { name: 'never', ms: undefined },
  { name: 'in an hour', ms: 3_600_000 },
  { name: 'in a day', ms: 86_400_000 },
  { name: 'in 30 days', ms: 30 * 86_400_000 },
  { name: 'in a year', ms: 365 * 86_400_000 },
] as const;

export function TokensView() {
  const { value, error, reload } = useResource(
    (signal) => api().tokens.list({ signal }),
    [],
    RELOAD_MS,
  );
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<NewToken>();
  const [leaving, setLeaving] = useState<TokenInfo>();
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

function CreateToken({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (token: NewToken) => void;
}) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['read']);
  const [limit, setLimit] = useState<'none' | 'bots' | 'labels'>('none');
  const [limits, setLimits] = useState('');
  const [expiry, setExpiry] = useState(0);
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);

  const create = async (): Promise<void> => {
    setBusy(true);
    setFault('');
    try {
      const ms = EXPIRIES[expiry]?.ms;
      const body: CreateTokenBody = {
        name,
        scopes: [...scopes],
        ...(limit === 'bots' ? { bots: limits.split(/[\s,]+/).filter((id) => id !== '') } : {}),
        ...(limit === 'labels' ? { labels: parseLabels(limits) } : {}),
        ...(ms === undefined ? {} : { expires_at_ms: Math.round(serverNow() + ms) }),
      };
      onMade(await api().tokens.create(body));
    } catch (thrown) {
      setFault((thrown as Error).message);
      setBusy(false);
    }
  };

  return (
    <Dialog title="New token" onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <div class="dialog-body form">
          <div class="field">
            <label for="token-name">Name</label>
            <input
              id="token-name"
              autocomplete="off"
              maxLength={64}
              placeholder="wall display"
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <p class="hint">What it is for.</p>
          </div>
          <fieldset>
            <legend>What it may do</legend>
            {SCOPES.map(({ name: scope, means }) => (
              <label key={scope} class="check">
                <input
                  type="checkbox"
                  checked={scopes.includes(scope)}
                  onChange={({ currentTarget }) =>
                    setScopes(
                      currentTarget.checked
                        ? [...scopes, scope]
                        : scopes.filter((other) => other !== scope),
                    )
                  }
                />
                <span>
                  <strong>{scope}</strong> <span class="muted">{means}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <div class="field">
            <label for="token-limit">Limited to</label>
            <select
              id="token-limit"
              value={limit}
              onChange={({ currentTarget }) => setLimit(currentTarget.value as typeof limit)}
            >
              <option value="none">all bots</option>
              <option value="bots">some bots, by id</option>
              <option value="labels">bots that have labels</option>
            </select>
            {limit === 'none' ? null : (
              <textarea
                aria-label={limit === 'bots' ? 'Ids' : 'Labels'}
                rows={3}
                placeholder={
                  limit === 'bots' ? 'ids, separated by commas or lines' : 'team=a, one a line'
                }
                value={limits}
                onInput={({ currentTarget }) => setLimits(currentTarget.value)}
              />
            )}
          </div>
          <div class="field">
            <label for="token-expiry">Runs out</label>
            <select
              id="token-expiry"
              value={String(expiry)}
              onChange={({ currentTarget }) => setExpiry(Number(currentTarget.value))}
            >
              {EXPIRIES.map((one, at) => (
                <option key={one.name} value={String(at)}>
                  {one.name}
                </option>
              ))}
            </select>
          </div>
          {fault === '' ? null : (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
        </div>
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            disabled={isBusy || name === '' || scopes.length === 0}
          >
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function MadeToken({ token, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <Dialog title={`Token ${token.name}`} onClose={onClose}>
      <div class="dialog-body">
        <p>It is shown this once. Copy it now.</p>
        <code class="made-token" data-made>
          {token.token}
        </code>
      </div>
      <footer>
        <button type="button" onClick={onClose}>
          Done
        </button>
        <button type="button" class="primary" onClick={() => void copy(token.token, 'Token')}>
          <Icon name="copy" />
          Copy
        </button>
      </footer>
    </Dialog>
  );
}
