import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { BotAction } from '../../../src/client/index.js';
import { actionText } from '../model/actions.js';
import { ask } from '../model/asked.js';
import { bots, botsVersion } from '../model/live.js';
import { may } from '../model/own-token.js';
import { setSelected, table } from '../model/table.js';
import { useThrottled } from '../model/throttle.js';
import { useFocusFor } from '../parts/focus.js';
import { Icon, type IconName } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { t } from '../texts/text.js';

const REDRAW_MS = 300;
const ACTIONS: { action: BotAction; icon: IconName }[] = [
  { action: 'start', icon: 'start' },
  { action: 'stop', icon: 'stop' },
  { action: 'restart', icon: 'restart' },
  { action: 'delete', icon: 'delete' },
];

interface SelectionProps {
  /** How many of these the view does not show. Actions apply to them too. */
  hiddenOf: (present: readonly string[]) => number;
  /** CSS selector of what gets the focus when the bar goes. */
  list: string;
  /** Other things to do with the selected bots. */
  children?: (present: readonly string[]) => ComponentChildren;
}

/** The actions on the selected bots of the table and the herd. Empty while none is selected. */
export function SelectionBar(props: SelectionProps) {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const { selected } = table.value;
  const present = useMemo(() => [...selected].filter((id) => bots.has(id)), [selected, version]);
  return present.length > 0 ? <Bar present={present} {...props} /> : null;
}

/** Bots with errors stay selected. */
export function keepFailed(errors: ReadonlyMap<string, string>): void {
  setSelected(new Set(errors.keys()));
}

function Bar({ present, hiddenOf, list, children }: SelectionProps & { present: string[] }) {
  const element = useRef<HTMLDivElement>(null);
  useFocusFor(list, element);
  const hidden = hiddenOf(present);
  return (
    <div ref={element} class="selection" role="region" aria-label={t('selection.title')}>
      <strong data-selected>{t('selection.count', { n: present.length })}</strong>
      {hidden > 0 ? <span>{t('selection.hidden', { n: hidden })}</span> : null}
      {may('control') ? (
        ACTIONS.map(({ action, icon }) => (
          <button
            key={action}
            type="button"
            class={action === 'delete' ? 'danger' : ''}
            onClick={() => ask({ action, ids: present, onDone: keepFailed })}
          >
            <Icon name={icon} />
            {actionText(action)}
          </button>
        ))
      ) : (
        <NeedsScope scope="control" to={t('scope.changeBots')} />
      )}
      {may('control') ? (
        <button type="button" onClick={() => ask({ action: 'config', ids: present })}>
          <Icon name="edit" />
          {t('selection.change')}
        </button>
      ) : null}
      {may('control') ? (
        <button type="button" onClick={() => ask({ action: 'rollout', ids: present })}>
          <Icon name="operations" />
          {t('kinds.rollOut')}
        </button>
      ) : null}
      {may('invoke') ? (
        <button type="button" onClick={() => ask({ action: 'command', ids: present })}>
          <Icon name="command" />
          {t('selection.command')}
        </button>
      ) : null}
      {children?.(present)}
      <button type="button" class="quiet" onClick={() => setSelected(new Set())}>
        {t('bots.clearSelection')}
      </button>
    </div>
  );
}
