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
import { FormDialog } from '../parts/form-dialog.js';
import { Icon } from '../parts/icons.js';
import { parseLabels } from '../parts/labels.js';
import { Until } from '../parts/token-facts.js';
import { type PlainKey, rich, t } from '../texts/text.js';

/** A new link, with the name of the token that it gives. */
export type NamedLink = SignInLink & { name: string };

const SCOPES: { name: Scope; means: PlainKey }[] = [
  { name: 'read', means: 'createToken.read' },
  { name: 'control', means: 'createToken.control' },
  { name: 'invoke', means: 'scope.sendCommands' },
  { name: 'admin', means: 'createToken.admin' },
];
const EXPIRIES = [
  { name: '', ms: undefined },
  { name: 'createToken.hour', ms: 3_600_000 },
  { name: 'createToken.day', ms: 86_400_000 },
  { name: 'createToken.month', ms: 30 * 86_400_000 },
  { name: 'createToken.year', ms: 365 * 86_400_000 },
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
      title={t('tokens.new')}
      nameHint={t('createToken.where')}
      nameExample={t('createToken.whereExample')}
      noExpiry={t('token.never')}
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
      title={t('tokens.newLink')}
      nameHint={t('createToken.who')}
      nameExample={t('createToken.whoExample')}
      noExpiry={t('createToken.whenUnused')}
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

  const create = async (): Promise<void> => {
    const ms = EXPIRIES[expiry]?.ms;
    await send({
      name,
      scopes: [...scopes],
      ...(limit === 'bots' ? { bots: limits.split(/[\s,]+/).filter((id) => id !== '') } : {}),
      ...(limit === 'labels' ? { labels: parseLabels(limits) } : {}),
      ...(ms === undefined ? {} : { expires_at_ms: Math.round(serverNow() + ms) }),
    });
  };

  return (
    <FormDialog
      title={title}
      action={t('button.create')}
      isReady={name !== '' && scopes.length > 0}
      send={create}
      onClose={onClose}
    >
      <div class="field">
        <label for="token-name">{t('term.name')}</label>
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
        <legend>{t('term.scopes')}</legend>
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
              <strong>{scope}</strong> <span class="muted">{t(means)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div class="field">
        <label for="token-limit">{t('createToken.restrict')}</label>
        <select
          id="token-limit"
          value={limit}
          onChange={({ currentTarget }) => setLimit(currentTarget.value as typeof limit)}
        >
          <option value="none">{t('term.allBots')}</option>
          <option value="bots">{t('createToken.byId')}</option>
          <option value="labels">{t('createToken.byLabel')}</option>
        </select>
        {limit === 'none' ? null : (
          <textarea
            aria-label={limit === 'bots' ? t('createToken.ids') : t('term.labels')}
            rows={3}
            placeholder={limit === 'bots' ? t('createToken.idsHint') : t('labels.placeholder')}
            value={limits}
            onInput={({ currentTarget }) => setLimits(currentTarget.value)}
          />
        )}
      </div>
      <div class="field">
        <label for="token-expiry">{t('term.expires')}</label>
        <select
          id="token-expiry"
          value={String(expiry)}
          onChange={({ currentTarget }) => setExpiry(Number(currentTarget.value))}
        >
          {EXPIRIES.map((one, at) => (
            <option key={one.name} value={String(at)}>
              {one.name === '' ? noExpiry : t(one.name)}
            </option>
          ))}
        </select>
      </div>
    </FormDialog>
  );
}

export function CreatedToken({ token, onClose }: { token: NewToken; onClose: () => void }) {
  return (
    <Created
      title={t('createToken.title', { name: token.name })}
      secret={token.token}
      what={t('term.token')}
      onClose={onClose}
    >
      <p>{t('createToken.copyNow')}</p>
    </Created>
  );
}

export function CreatedLink({ link, onClose }: { link: NamedLink; onClose: () => void }) {
  const url = signInUrl(serviceUrl(), link);
  return (
    <Created
      title={t('createToken.linkTitle', { name: link.name })}
      secret={url}
      what={t('term.link')}
      onClose={onClose}
    >
      <p>
        {rich('createToken.copyLink', { name: link.name, when: <Until at={link.expires_at_ms} /> })}
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
          {t('button.done')}
        </button>
        <button type="button" class="primary" data-first onClick={() => void copy(secret, what)}>
          <Icon name="copy" />
          {t('button.copy')}
        </button>
      </footer>
    </Dialog>
  );
}
