// The kinds of bots: the versions that their bots run, and what to do when their files have changed.

import type { ListedKind } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { ask } from '../model/asked.js';
import { kinds, kindsAnswer, loadKinds, useKinds } from '../model/kinds.js';
import { isUnlimited, may } from '../model/own-token.js';
import { hrefTo } from '../model/route.js';
import { api } from '../model/session.js';
import { useMore } from '../parts/more.js';
import { say, sayError } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { botsWith } from '../query/address-query.js';
import { t } from '../texts/text.js';

/** Kinds of the list at once. */
const STEP = 20;

export function KindsCard() {
  useKinds();
  const { shown, more } = useMore(kinds.value, STEP);
  return (
    <section class="card" aria-labelledby="kinds-title">
      <h2 id="kinds-title">{t('kinds.title')}</h2>
      <Unanswered of={kindsAnswer.value} />
      <ul class="kinds">
        {shown.map((kind) => (
          <Kind key={kind.kind} of={kind} />
        ))}
      </ul>
      {more}
    </section>
  );
}

function Kind({ of: { kind, description, versions, changed } }: { of: ListedKind }) {
  const isSteered = may('control') && isUnlimited();
  const bots = versions.reduce((sum, version) => sum + version.bots, 0);
  return (
    <li data-kind={kind}>
      <div class="kind-name">
        <a href={botsWith('kind', kind)}>{kind}</a>
        {changed ? <span class="tag tone-wait">{t('kinds.changed')}</span> : null}
        <p class="muted">{visible(description)}</p>
      </div>
      <ul class="kind-versions">
        {versions.map(({ version, package: from, is_current: isCurrent, bots: n }) => (
          <li key={version} data-version={version} title={from ?? undefined}>
            <code>{version}</code>{' '}
            <a href={hrefTo('bots', '', { q: `kind:${JSON.stringify(kind)} version:${version}` })}>
              {t('count.bots', { n })}
            </a>
            {isCurrent ? null : <span class="muted"> {t('kinds.notCurrent')}</span>}
          </li>
        ))}
      </ul>
      <div class="kind-steps">
        {isSteered && changed ? (
          <button type="button" onClick={() => void reload(kind)}>
            {t('kinds.reload')}
          </button>
        ) : null}
        {isSteered && (changed || bots > 0) ? (
          <button type="button" onClick={() => ask({ action: 'rollout', ids: [], kind })}>
            {t('kinds.rollOut')}
          </button>
        ) : null}
      </div>
    </li>
  );
}

async function reload(kind: string): Promise<void> {
  try {
    const { kinds: read, failed } = await api().reloadKinds(kind);
    const [done] = read;
    const [fault] = failed;
    if (done) say(t('kinds.reloaded', { kind, version: done.version, n: done.bots }));
    else sayError(fault?.error ?? t('operation.noReason'), t('kinds.notReloaded', { kind }));
  } catch (thrown) {
    sayError(thrown, t('kinds.notReloaded', { kind }));
  }
  loadKinds();
}
