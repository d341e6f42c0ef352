import { useMemo, useState } from 'preact/hooks';
import { chooseColumns, MAX_COLUMNS } from '../model/columns.js';
import { bots } from '../model/live.js';
import { Icon } from '../parts/icons.js';
import { Menu } from '../parts/menu.js';
import { useRefocus } from '../parts/refocus.js';
import { say } from '../parts/toasts.js';
import { t } from '../texts/text.js';
import { type Column, columnOf, moved, OWN_COLUMNS, offeredFields } from './bots-columns.js';

interface Props {
  columns: readonly Column[];
  hasNodes: boolean;
  /** Null for what the table shows by itself. */
  onChoose: (names: readonly string[] | null) => void;
}

/** Which columns there are, and in which order. */
export function ColumnsMenu({ columns, hasNodes, onChoose }: Props) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  // Looked at when the menu opens: the data of all bots changes all the time.
  const offered = useMemo(() => (isOpen ? offeredFields(bots.values()) : []), [isOpen]);
  const names = columns.map(({ name }) => name);
  const wanted = text.trim().toLowerCase();
  const isOffered = (name: string): boolean =>
    !names.includes(name) &&
    (name !== 'node' || hasNodes) &&
    `${name} ${columnOf(name)?.title}`.toLowerCase().includes(wanted);
  const refocus = useRefocus();
  const refocusOn = (name: string, control: string): void =>
    refocus(`.columns-menu [data-column="${CSS.escape(name)}"] ${control}`);
  const toggle = (name: string): void => {
    refocusOn(name, 'input');
    if (names.includes(name)) onChoose(names.filter((one) => one !== name));
    else if (names.length >= MAX_COLUMNS) say(t('columns.tooMany', { n: MAX_COLUMNS }));
    else onChoose([...names, name]);
  };
  return (
    <Menu name={t('columns.title')} icon="columns" class="columns-menu" onOpen={setOpen}>
      {() => (
        <>
          <ul aria-label={t('columns.shown')}>
            {columns.map(({ name, title }, at) => (
              <li key={name} data-column={name}>
                <Check name={name} title={title} isOn isFixed={name === 'id'} onToggle={toggle} />
                {([-1, 1] as const).map((by) => (
                  <button
                    key={by}
                    type="button"
                    class="quiet square"
                    aria-label={t(by < 0 ? 'columns.left' : 'columns.right', { column: title })}
                    title={t(by < 0 ? 'columns.left' : 'columns.right', { column: title })}
                    aria-disabled={at + by < 0 || at + by >= columns.length}
                    onClick={() => {
                      refocusOn(name, `button[data-by="${by}"]`);
                      onChoose(moved(names, name, by));
                    }}
                    data-by={by}
                  >
                    <Icon name={by < 0 ? 'up' : 'down'} />
                  </button>
                ))}
              </li>
            ))}
          </ul>
          <input
            type="search"
            aria-label={t('columns.search')}
            placeholder={t('columns.searchHint')}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <Offered
            names={OWN_COLUMNS.filter(isOffered)}
            title={t('columns.everyBot')}
            onToggle={toggle}
          />
          {offered.map((kind) => (
            <Offered
              key={kind.kind}
              names={kind.names.filter(isOffered)}
              title={kind.kind}
              onToggle={toggle}
            />
          ))}
          <button
            type="button"
            onClick={() => {
              chooseColumns({ names: null, widths: {} });
              onChoose(null);
            }}
          >
            {t('columns.reset')}
          </button>
        </>
      )}
    </Menu>
  );
}

function Offered({
  names,
  title,
  onToggle,
}: {
  names: readonly string[];
  title: string;
  onToggle: (name: string) => void;
}) {
  if (names.length === 0) return null;
  return (
    <ul aria-label={t('columns.further', { of: title })}>
      <li class="muted" aria-hidden="true">
        {title}
      </li>
      {names.map((name) => (
        <li key={name} data-column={name}>
          <Check
            name={name}
            title={columnOf(name)?.title ?? name}
            isOn={false}
            onToggle={onToggle}
          />
        </li>
      ))}
    </ul>
  );
}

function Check({
  name,
  title,
  isOn,
  isFixed = false,
  onToggle,
}: {
  name: string;
  title: string;
  isOn: boolean;
  isFixed?: boolean;
  onToggle: (name: string) => void;
}) {
  return (
    <label title={name}>
      <input type="checkbox" checked={isOn} disabled={isFixed} onChange={() => onToggle(name)} />
      <span>{title}</span>
    </label>
  );
}
