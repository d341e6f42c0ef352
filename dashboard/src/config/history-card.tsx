// Who has changed a bot, when, and what; from the journal.

import type {
  BotSnapshot,
  JsonObject,
  BotConfig as SavedConfig,
} from '../../../src/client/index.js';
import type { BotParts } from '../../../src/shared/contract/config-changes.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { readEvents } from '../model/events.js';
import { may } from '../model/own-token.js';
import { useResource } from '../model/resource.js';
import { fullTime } from '../model/time.js';
import { useMore } from '../parts/more.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { ChangesList } from './changes-list.js';
import { type ChangeMade, versionsOf } from './history.js';

/** Changes that are shown: the newest. */
const LIMIT = 50;
/** How many at once. */
const STEP = 10;

interface Props {
  bot: BotSnapshot;
  saved: SavedConfig;
  /** Fills the form with an earlier state of the bot. */
  onRestore: (before: BotParts) => void;
}

export function ConfigHistory({ bot, saved, onRestore }: Props) {
  const answer = useResource(
    async (signal) => {
      const { events } = await readEvents({
        query: 'activity:bot.update',
        session: [bot.id],
        order: 'newest',
        limit: LIMIT,
        signal,
      });
      return events.flatMap((event): ChangeMade[] => {
        if (event.event !== 'activity') return [];
        const { timestamp_ms: at, actor, detail } = event.data;
        const { change } = detail ?? {};
        return change ? [{ id: event.id ?? '', at, by: actor ?? '', change }] : [];
      });
    },
    [bot.id],
    // Changes by others show when the form is loaded again.
    { when: [saved] },
  );
  const { value } = answer;
  const { config, restart, isolation, host_group, quota, node, node_labels, failover } = saved;
  const now: BotParts = {
    config,
    labels: bot.labels,
    restart: { ...restart },
    placement: {
      isolation,
      ...(host_group !== null && { host_group }),
      quota: quota as JsonObject,
      ...(node !== undefined && { node }),
      ...(node_labels && { node_labels }),
      ...(failover && { failover }),
    },
  };
  const versions = value ? versionsOf(now, value) : [];
  const { shown, more } = useMore(versions, STEP);
  return (
    <section class="card config-history" aria-label={t('history.label')}>
      <h2>{t('history.title')}</h2>
      <Unanswered of={answer} />
      {value === undefined ? null : versions.length === 0 ? (
        <p class="muted">{t('history.none')}</p>
      ) : (
        <ol aria-label={t('history.list')}>
          {shown.map(({ id, at, by, changes, isCut, before }) => (
            <li key={id} data-version={by}>
              <header>
                <strong>{visible(by)}</strong>
                <time class="muted">{fullTime(at)}</time>
                {before && may('control') ? (
                  <button
                    type="button"
                    aria-label={t('history.restoreOf', { time: fullTime(at) })}
                    onClick={() => onRestore(before)}
                  >
                    {t('history.restore')}
                  </button>
                ) : null}
              </header>
              <ChangesList
                changes={changes}
                label={t('history.changesOf', { time: fullTime(at) })}
              />
              {isCut ? <p class="hint">{t('history.tooLong')}</p> : null}
            </li>
          ))}
        </ol>
      )}
      {more}
    </section>
  );
}
