import { useMemo, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.js';
import { Menu } from '../parts/menu.js';
import { useRefocus } from '../parts/refocus.js';
import { say } from '../parts/toasts.js';
import { t } from '../texts/text.js';
import { chooseColumns } from './choice.js';
import { type Column, type ColumnTable, MAX_COLUMNS, moved } from './column.js';
import type { ChosenColumns } from './use-columns.js';

/** Columns that can be added, under a title. */
export interface OfferedColumns {
  title: string;
  names: readonly string[];
}

interface Props<C extends Column> {
  table: ColumnTable<C>;
  chosen: ChosenColumns<C>;
  /** Called when the menu opens. */
  offer: () => readonly OfferedColumns[];
  /** There are so many columns that the menu has a search. */
  isLong?: boolean;
}

/** Which columns there are, and in which order. */
export function ColumnsMenu<C extends Column>({
  table,
  chosen: { columns, choose },
  offer,
  isLong = false,
}: Props<C>) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const offered = useMemo(() => (isOpen ? offer() : []), [isOpen]);
  const names = columns.map(({ name }) => name);
  const wanted = text.trim().toLowerCase();
  const isOffered = (name: string): boolean => {
    const column = names.includes(name) ? undefined : table.columnOf(name);
    return column !== undefined && `${name} ${column.title}`.toLowerCase().includes(wanted);
  };
  const refocus = useRefocus();
  const refocusOn = (name: string, control: string): void =>
    refocus(`.columns-menu [data-column="${CSS.escape(name)}"] ${control}`);
  const toggle = (name: string): void => {
    refocusOn(name, 'input');
    if (names.includes(name)) choose(names.filter((one) => one !== name));
    else if (names.length >= MAX_COLUMNS) say(t('columns.tooMany', { n: MAX_COLUMNS }));
    else choose([...names, name]);
  };
  return (
    <Menu name={t('columns.title')} icon="columns" class="columns-menu" onOpen={setOpen}>
      {() => (
        <>
          <ul aria-label={t('columns.shown')}>
            {columns.map(({ name, title }, at) => (
              <li key={name} data-column={name}>
                <Check
                  name={name}
                  title={title}
                  isOn
                  isFixed={name === table.fixed}
                  onToggle={toggle}
                />
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
                      choose(moved(names, name, by));
                    }}
                    data-by={by}
                  >
                    <Icon name={by < 0 ? 'up' : 'down'} />
                  </button>
                ))}
              </li>
            ))}
          </ul>
          {isLong ? (
            <input
              type="search"
              aria-label={t('columns.search')}
              placeholder={t('columns.searchHint')}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          ) : null}
          {offered.map(({ title, names: some }) => (
            <Offered
              key={title}
              columns={some.filter(isOffered).flatMap((name) => table.columnOf(name) ?? [])}
              title={title}
              onToggle={toggle}
            />
          ))}
          <button
            type="button"
            onClick={() => {
              chooseColumns(table.name, { names: null, widths: {} });
              choose(null);
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
  columns,
  title,
  onToggle,
}: {
  columns: readonly Column[];
  title: string;
  onToggle: (name: string) => void;
}) {
  if (columns.length === 0) return null;
  return (
    <ul aria-label={t('columns.further', { of: title })}>
      <li class="muted" aria-hidden="true">
        {title}
      </li>
      {columns.map(({ name, title }) => (
        <li key={name} data-column={name}>
          <Check name={name} title={title} isOn={false} onToggle={onToggle} />
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
    <label title={name.includes('.') ? name : title}>
      <input type="checkbox" checked={isOn} disabled={isFixed} onChange={() => onToggle(name)} />
      <span>{title}</span>
    </label>
  );
}
