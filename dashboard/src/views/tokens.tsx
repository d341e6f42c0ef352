import { useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, type NewToken, type TokenInfo } from '../../../src/client/index.js';
import type { ColumnTable } from '../columns/column.js';
import { ColumnsMenu } from '../columns/columns-menu.js';
import { DataTable } from '../columns/data-table.js';
import { type ChosenColumns, useColumns } from '../columns/use-columns.js';
import { may } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { api, signOut } from '../model/session.js';
import { clientText, creatorText } from '../model/token-text.js';
import { Confirm } from '../parts/dialog.js';
import { focusContent } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { say, sayError } from '../parts/toasts.js';
import { Ago, Expiry, Limits, Scopes } from '../parts/token-facts.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { useKeys } from '../shell/keys.js';
import { numberText, type PlainKey, t } from '../texts/text.js';
import {
  CreatedLink,
  CreatedToken,
  CreateLink,
  CreateToken,
  type NamedLink,
} from './create-token.js';

const RELOAD_MS = 15_000;
const COLUMNS: Readonly<Record<string, PlainKey>> = {
  name: 'term.name',
  scopes: 'term.scopes',
  restricted: 'tokens.restricted',
  created: 'term.created',
  used: 'tokens.lastUsed',
  expires: 'term.expires',
  id: 'tokens.id',
};
const USUAL = ['name', 'scopes', 'restricted', 'created', 'used', 'expires'];
const TOKENS_TABLE: ColumnTable = {
  name: 'tokens',
  fixed: 'name',
  columnOf: (name) => {
    const title = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    const grow = name === 'name' || name === 'restricted' ? 1 : 0;
    return title && { name, title: t(title), least: 0, grow };
  },
};

export function TokensView() {
  const answer = useResource((signal) => api().tokens.list({ signal }), [], {
    everyMs: RELOAD_MS,
  });
  const { value, error, reload } = answer;
  const columns = useColumns(TOKENS_TABLE, USUAL);
  const [creating, setCreating] = useState<'token' | 'link'>();
  const [created, setCreated] = useState<NewToken>();
  const [link, setLink] = useState<NamedLink>();
  const [revoking, setRevoking] = useState<TokenInfo>();
  // Revoking removes the row with the focused button.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusContent();
  }, [value]);
  const isForbidden = error instanceof ApiError && error.status === 403;
  const mayChange = may('admin') && !isForbidden;
  useKeys(
    t('page.tokens'),
    mayChange
      ? [
          { keys: 'n', does: t('tokens.new'), run: () => setCreating('token') },
          { keys: 'i', does: t('tokens.newLink'), run: () => setCreating('link') },
        ]
      : [],
  );

  const revoke = async (token: TokenInfo): Promise<void> => {
    setRevoking(undefined);
    try {
      if (token.current) return await signOut();
      await api().tokens.revoke(token.id);
      say(t('tokens.revoked', { name: token.name }));
      reload();
    } catch (thrown) {
      sayError(thrown, t('tokens.couldNot', { name: token.name }));
    }
  };

  return (
    <>
      <ViewHead title={t('page.tokens')} note={value ? numberText(value.length) : undefined}>
        <ColumnsMenu
          table={TOKENS_TABLE}
          chosen={columns}
          offer={() => [{ title: t('page.tokens'), names: Object.keys(COLUMNS) }]}
        />
        {mayChange ? (
          <>
            <button type="button" onClick={() => setCreating('link')}>
              <Icon name="link" />
              {t('tokens.link')}
            </button>
            <button type="button" class="primary" onClick={() => setCreating('token')}>
              <Icon name="add" />
              {t('tokens.new')}
            </button>
          </>
        ) : null}
      </ViewHead>
      <div class="page">
        {isForbidden ? (
          <p class="empty muted">{t('tokens.needsAdmin')}</p>
        ) : (
          <Unanswered of={answer} />
        )}
        {value ? <TokenTable tokens={value} columns={columns} onRevoke={setRevoking} /> : null}
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
          title={t('tokens.revokeTitle', { name: revoking.name })}
          action={t('tokens.revoke')}
          isDangerous
          onYes={() => void revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          {revoking.current ? (
            <p>
              <strong>{t('tokens.own')}</strong> {t('tokens.revokeOwn')}
            </p>
          ) : null}
          <p>{t('tokens.revokeText')}</p>
        </Confirm>
      ) : null}
    </>
  );
}

interface TableProps {
  tokens: readonly TokenInfo[];
  columns: ChosenColumns;
  onRevoke: (token: TokenInfo) => void;
}

function TokenTable({ tokens, columns, onRevoke }: TableProps) {
  return (
    <DataTable
      label={t('page.tokens')}
      table={TOKENS_TABLE}
      chosen={columns}
      rows={tokens}
      keyOf={({ id }) => id}
      attributesOf={({ name }) => ({ 'data-token': name })}
      cell={(name, token) => <TokenCell name={name} token={token} />}
      end={{
        title: t('tokens.revoke'),
        of: (token) => (
          <button
            type="button"
            class="danger quiet"
            aria-label={t('tokens.revokeOf', { name: token.name })}
            onClick={() => onRevoke(token)}
          >
            <Icon name="delete" />
            {t('tokens.revoke')}
          </button>
        ),
      }}
    />
  );
}

function TokenCell({ name, token }: { name: string; token: TokenInfo }) {
  switch (name) {
    case 'name':
      return (
        <>
          {token.name} {token.current ? <span class="tag">{t('tokens.thisBrowser')}</span> : null}
        </>
      );
    case 'scopes':
      return <Scopes scopes={token.scopes} />;
    case 'restricted':
      return <Limits of={token} />;
    case 'created':
      return (
        <span class="two-lines">
          <Ago at={token.created_at_ms} />
          <small class="muted">{creatorText(token)}</small>
        </span>
      );
    case 'used':
      return <LastUse token={token} />;
    case 'expires':
      return <Expiry of={token} />;
    default:
      return <code>{token.id}</code>;
  }
}

function LastUse({ token: { last_used_at_ms: at, last_used_from: from } }: { token: TokenInfo }) {
  if (at === null) return <span class="muted">{t('token.never')}</span>;
  return (
    <span class="two-lines">
      <Ago at={at} />
      {from === null ? null : <small class="muted">{clientText(from)}</small>}
    </span>
  );
}
