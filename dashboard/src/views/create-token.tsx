import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import {
  type CreateTokenBody,
  type NewToken,
  type Scope,
  type SignInLink,
  signInUrl,
} from '../../../src/client/index.js';
import { serviceUrl } from '../hub/service-address.js';
import { api } from '../model/session.js';
import { serverNow } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { parseLabels } from '../parts/labels.js';
import { Until } from '../parts/token-facts.js';

/** A new link, with the name of the token that it gives. */
export type NamedLink = SignInLink & { name: string };

const SCOPES: { name: Scope; means: string }[] = [
  { name: 'read', means: 'view bots and events' },
  { name: 'control', means: 'create, change, start, stop and delete bots' },
  { name: 'invoke', means: 'send commands to bots' },
  { name: 'admin', means: 'full access, including tokens' },
];
const EXPIRIES = [
  { name: '', ms: undefined },
  { name: 'in 1 hour', ms: 3_600_000 },
  { name: 'in 1 day', ms: 86_400_000 },
  { name: 'in 30 days', ms: 30 * 86_400_000 },
  { name: 'in 1 year', ms: 365 * 86_400_000 },
] as const;

interface FormProps {
  title: string;
  /** What the name is, and an example of it. */
  nameHint: string;
  nameExample: string;
  /** The expiry that is chosen at first. */
  noExpiry: string;
  onClose: () => void;
  /** @throws Error that the form shows. */
  send: (body: CreateTokenBody) => Promise<void>;
}

export function CreateToken({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (token: NewToken) => void;
}) {
  return (
    <TokenForm
      title="New token"
      nameHint="Where the token is used."
      nameExample="wall display"
      noExpiry="never"
      onClose={onClose}
      send={async (body) => onCreated(await api().tokens.create(body))}
    />
  );
}

export function CreateLink({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (link: NamedLink) => void;
}) {
  return (
    <TokenForm
      title="New sign-in link"
      nameHint="Who signs in with the link."
      nameExample="Ada"
      noExpiry="when it is not used"
      onClose={onClose}
      send={async (body) =>
        onCreated({ name: body.name, ...(await api().tokens.createLink(body)) })
      }
    />
  );
}

/** What a token may do, as a form: for a token, or for a link that gives one. */
function TokenForm({ title, nameHint, nameExample, noExpiry, onClose, send }: FormProps) {
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
      await send(body);
    } catch (thrown) {
      setFault((thrown as Error).message);
      setBusy(false);
    }
  };

  return (
    <Dialog title={title} onClose={onClose}>
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
              placeholder={nameExample}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <p class="hint">{nameHint}</p>
          </div>
          <fieldset>
            <legend>Scopes</legend>
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
            <label for="token-limit">Restrict to</label>
            <select
              id="token-limit"
              value={limit}
              onChange={({ currentTarget }) => setLimit(currentTarget.value as typeof limit)}
            >
              <option value="none">All bots</option>
              <option value="bots">Bots by ID</option>
              <option value="labels">Bots by label</option>
            </select>
            {limit === 'none' ? null : (
              <textarea
                aria-label={limit === 'bots' ? 'IDs' : 'Labels'}
                rows={3}
                placeholder={
                  limit === 'bots' ? 'IDs, separated by commas or lines' : 'team=a (one per line)'
                }
                value={limits}
                onInput={({ currentTarget }) => setLimits(currentTarget.value)}
              />
            )}
          </div>
          <div class="field">
            <label for="token-expiry">Expires</label>
            <select
              id="token-expiry"
              value={String(expiry)}
              onChange={({ currentTarget }) => setExpiry(Number(currentTarget.value))}
            >
              {EXPIRIES.map((one, at) => (
                <option key={one.name} value={String(at)}>
                  {one.name || noExpiry}
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

export function CreatedToken({ token, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <Created title={`Token ${token.name}`} secret={token.token} what="Token" onClose={onClose}>
      <p>Copy the token now. It will not be shown again.</p>
    </Created>
  );
}

export function CreatedLink({ link, onClose }: { link: NamedLink; onClose: () => void }) {
  const url = signInUrl(serviceUrl(), link);
  return (
    <Created title={`Sign-in link for ${link.name}`} secret={url} what="Link" onClose={onClose}>
      <p>
        Copy the link now, and send it only to {link.name}. It signs in the first browser that uses
        it, and expires <Until at={link.expires_at_ms} />.
      </p>
    </Created>
  );
}

/** Shows a secret, once. */
function Created({
  title,
  secret,
  what,
  onClose,
  children,
}: {
  title: string;
  secret: string;
  what: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">
        {children}
        <code class="created-token" data-created>
          {secret}
        </code>
      </div>
      <footer>
        <button type="button" onClick={onClose}>
          Done
        </button>
        <button type="button" class="primary" data-first onClick={() => void copy(secret, what)}>
          <Icon name="copy" />
          Copy
        </button>
      </footer>
    </Dialog>
  );
}
