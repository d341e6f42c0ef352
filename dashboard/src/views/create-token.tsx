// Owns the form that a token is made with, and the one time that it is shown.

import { useState } from 'preact/hooks';
import type { CreateTokenBody, NewToken, Scope } from '../../../src/client/index.js';
import { api } from '../model/session.js';
import { serverNow } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { parseLabels } from '../parts/labels.js';

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

export function CreateToken({
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

export function MadeToken({ token, onClose }: { token: NewToken; onClose: () => void }) {
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
        <button
          type="button"
          class="primary"
          data-first
          onClick={() => void copy(token.token, 'Token')}
        >
          <Icon name="copy" />
          Copy
        </button>
      </footer>
    </Dialog>
  );
}
