import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { BotAction } from '../../../src/client/index.js';
import { ACTION_NAMES } from '../model/actions.js';
import { may } from '../model/own-token.js';
import { useFocusFor } from '../parts/focus.js';
import { Icon, type IconName } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';

const ACTIONS: { action: BotAction; icon: IconName }[] = [
  { action: 'start', icon: 'start' },
  { action: 'stop', icon: 'stop' },
  { action: 'restart', icon: 'restart' },
  { action: 'delete', icon: 'delete' },
];

interface SelectionProps {
  present: string[];
  /** Number of selected bots that are filtered out. */
  hidden: number;
  /** CSS selector of what gets the focus when the bar goes. */
  list: string;
  onAction: (action: BotAction) => void;
  onNone: () => void;
  /** Other things to do with them. */
  children?: ComponentChildren;
}

/** The bar with the actions for the selected bots. */
export function SelectionBar({
  present,
  hidden,
  list,
  onAction,
  onNone,
  children,
}: SelectionProps) {
  const element = useRef<HTMLDivElement>(null);
  useFocusFor(list, element);
  return (
    <div ref={element} class="selection" role="region" aria-label="Selected bots">
      <strong data-selected>{present.length.toLocaleString('en')} selected</strong>
      {hidden > 0 ? <span>{hidden.toLocaleString('en')} hidden by the filter</span> : null}
      {may('control') ? (
        ACTIONS.map(({ action, icon }) => (
          <button
            key={action}
            type="button"
            class={action === 'delete' ? 'danger' : ''}
            onClick={() => onAction(action)}
          >
            <Icon name={icon} />
            {ACTION_NAMES[action]}
          </button>
        ))
      ) : (
        <NeedsScope scope="control" to="change bots" />
      )}
      {children}
      <button type="button" class="quiet" onClick={onNone}>
        Clear selection
      </button>
    </div>
  );
}
