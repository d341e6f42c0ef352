// What a token may do and how long, as the list of tokens, a sign-in link and "who am I" show it.

import type { LinkOffer, TokenInfo } from '../../../src/client/index.js';
import { age, fullTime, second, serverNow, spanLeft } from '../model/time.js';
import { t } from '../texts/text.js';
import { Labels } from './labels.js';

export function Scopes({ scopes }: Pick<TokenInfo, 'scopes'>) {
  return (
    <span class="scopes">
      {scopes.map((scope) => (
        <span key={scope} class={`tag scope-${scope}`}>
          {scope}
        </span>
      ))}
    </span>
  );
}

export function Limits({ of: { bots, labels } }: { of: Pick<LinkOffer, 'bots' | 'labels'> }) {
  if (labels) return <Labels labels={labels} />;
  if (!bots) return <span class="muted">{t('token.allBots')}</span>;
  return (
    <span title={bots.join(', ')}>
      {bots.length === 1 ? bots[0] : `${bots[0]} ${t('count.more', { n: bots.length - 1 })}`}
    </span>
  );
}

/** Its name and what it may do, as rows of a list of facts. @param isInFull says what `admin` is, too. */
export function Access({
  of,
  isInFull = false,
}: {
  of: Pick<LinkOffer, 'name' | 'scopes' | 'bots' | 'labels'>;
  isInFull?: boolean;
}) {
  return (
    <>
      <div>
        <dt>{t('term.name')}</dt>
        <dd class="anywhere">{of.name}</dd>
      </div>
      <div>
        <dt>{t('term.scopes')}</dt>
        <dd>
          <Scopes scopes={of.scopes} />{' '}
          {isInFull && of.scopes.includes('admin') ? (
            <span class="muted">{t('who.everything')}</span>
          ) : null}
        </dd>
      </div>
      <div>
        <dt>{t('term.bots')}</dt>
        <dd>
          <Limits of={of} />
        </dd>
      </div>
    </>
  );
}

export function Ago({ at }: { at: number }) {
  void second.value;
  return <time title={fullTime(at)}>{t('time.ago', { time: age(at) })}</time>;
}

/** A time in the future. */
export function Until({ at }: { at: number }) {
  void second.value;
  const left = at - serverNow();
  return (
    <time title={fullTime(at)}>
      {left <= 0 ? t('token.expired') : t('time.in', { time: spanLeft(left) })}
    </time>
  );
}

export function Expiry({ of: { expires_at_ms, extended_by_use } }: { of: TokenInfo }) {
  if (expires_at_ms === null) return <span class="muted">{t('token.never')}</span>;
  return (
    <span class="two-lines">
      <Until at={expires_at_ms} />
      {extended_by_use ? <small class="muted">{t('token.ifUnused')}</small> : null}
    </span>
  );
}
