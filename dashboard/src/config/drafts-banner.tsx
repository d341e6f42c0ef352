import { visible } from '../../../src/shared/contract/escapes.js';
import { bots, botsVersion } from '../model/live.js';
import { hrefTo, route } from '../model/route.js';
import { useThrottled } from '../model/throttle.js';
import { Icon } from '../parts/icons.js';
import { rich, t } from '../texts/text.js';
import { drafts, keepDraft } from './drafts.js';

const REDRAW_MS = 500;
/** More are counted. */
const SHOWN = 3;
const MAX_NAMES = 4;

/** Names the unsaved changes of bots that the page does not show at present. */
export function DraftsBanner() {
  useThrottled(botsVersion, REDRAW_MS);
  const { view, part } = route.value;
  const open = [...drafts.value].filter(
    ([id]) => bots.has(id) && !(view === 'bots' && part === id),
  );
  if (open.length === 0) return null;
  return (
    <>
      {open.slice(0, SHOWN).map(([id, { names }]) => (
        <div key={id} class="banner" data-draft={id}>
          <Icon name="edit" />
          <span>
            {rich('drafts.of', {
              bot: <a href={hrefTo('bots', id, { tab: 'config' })}>{id}</a>,
              fields: visible(names.slice(0, MAX_NAMES).join(', ')),
              more:
                names.length > MAX_NAMES
                  ? ` ${t('count.more', { n: names.length - MAX_NAMES })}`
                  : '',
            })}
          </span>
          <button type="button" onClick={() => keepDraft(id, undefined)}>
            {t('button.discard')}
          </button>
        </div>
      ))}
      {open.length > SHOWN ? (
        <div class="banner">
          <Icon name="edit" />
          <span>{t('drafts.moreBots', { n: open.length - SHOWN })}</span>
        </div>
      ) : null}
    </>
  );
}
