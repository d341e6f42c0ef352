import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ColumnsMenu } from '../columns/columns-menu.js';
import { rowHeightOf } from '../model/density.js';
import { wantAllLastLines } from '../model/last-lines.js';
import { bots, botsVersion, isLoaded, linesVersion, loaded } from '../model/live.js';
import { mayCreate } from '../model/own-token.js';
import { changeQuery, go, hrefTo, route } from '../model/route.js';
import { scrolledOf, setActive, setSelected, table } from '../model/table.js';
import { NEVER, useThrottled } from '../model/throttle.js';
import { useWidth } from '../model/width.js';
import { Icon } from '../parts/icons.js';
import { moveInRow, moveToRow } from '../parts/row-keys.js';
import { Unanswered } from '../parts/unanswered.js';
import { ViewHead } from '../parts/view-head.js';
import { VirtualList } from '../parts/virtual-list.js';
import { useKeys } from '../shell/keys.js';
import { CompareLinks } from '../side/compare-links.js';
import { numberText, t } from '../texts/text.js';
import { BOTS_TABLE, offeredColumns, useBotColumns } from './bots-columns.js';
import { Filters } from './bots-filters.js';
import { Head } from './bots-head.js';
import { idsBetween, queryOf, useShown } from './bots-query.js';
import { Row } from './bots-row.js';
import { CreateBot } from './create-bot.js';
import { SelectionBar } from './selection-bar.js';

const REDRAW_MS = 300;
/** Interval of sorting bots by silence again, in ms. */
const SILENCE_MS = 1000;
/** Below this width, in px, a row has two lines. */
const NARROW_PX = 720;
/** From this width, in px, it is a wall display with larger text. */
const WALL_PX = 2200;
export function BotsView() {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const query = queryOf(route.value.query);
  const width = useWidth();
  const isNarrow = width < NARROW_PX;
  const { selected, active } = table.value;
  const [isCreating, setCreating] = useState(false);
  const anchor = useRef<string | undefined>(undefined);
  // Lines change the order by silence, and no bot.
  const spoken = useThrottled(query.sort === 'silent' ? linesVersion : NEVER, SILENCE_MS);
  const shown = useShown(query, version + spoken);
  useEffect(wantAllLastLines, []);
  const { columns, chosen, inLine, style } = useBotColumns(shown, isNarrow);
  // The filter does not change the selection: actions also apply to selected bots that are filtered out.
  const hiddenOf = (present: readonly string[]): number => {
    const ids = new Set(shown.map(({ id }) => id));
    return present.filter((id) => !ids.has(id)).length;
  };

  const at = active === undefined ? -1 : shown.findIndex(({ id }) => id === active);
  const step = (by: number): void => {
    const next = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
    if (next) setActive(next.id);
  };
  const toggle = (id: string, isRange = false): void => {
    const next = new Set(selected);
    const ids =
      isRange && anchor.current !== undefined ? idsBetween(shown, anchor.current, id) : [id];
    const isOn = !selected.has(id);
    for (const one of ids) {
      if (isOn) next.add(one);
      else next.delete(one);
    }
    anchor.current = id;
    setSelected(next);
  };
  const areAll = shown.length > 0 && shown.every(({ id }) => selected.has(id));
  const toggleAll = (): void =>
    setSelected(areAll ? new Set() : new Set(shown.map(({ id }) => id)));

  useKeys(t('term.bots'), [
    { keys: 'j', does: t('bots.next'), run: () => step(1) },
    { keys: 'k', does: t('bots.previous'), run: () => step(-1) },
    { keys: 'ArrowDown', does: t('bots.next'), run: () => step(1) },
    { keys: 'ArrowUp', does: t('bots.previous'), run: () => step(-1) },
    {
      keys: 'Enter',
      does: t('bots.open'),
      run: () => active !== undefined && go(hrefTo('bots', active)),
    },
    {
      keys: 'x',
      does: t('bots.toggle'),
      run: () => active !== undefined && toggle(active),
    },
    { keys: '*', does: t('bots.toggleAll'), run: toggleAll },
    ...(mayCreate() ? [{ keys: 'n', does: t('bots.new'), run: () => setCreating(true) }] : []),
    { keys: 'Escape', does: t('bots.clearSelection'), run: () => setSelected(new Set()) },
  ]);

  // The focus goes with the row that the arrows have chosen.
  useLayoutEffect(() => {
    if (active !== undefined) moveToRow(`bot-${active}`);
  }, [active]);
  const rowHeight = isNarrow ? 62 : rowHeightOf('bots') + (width < WALL_PX ? 0 : 8);
  return (
    <div class="view-full">
      <ViewHead
        title={t('term.bots')}
        note={
          <span data-shown={shown.length}>
            {shown.length === bots.size
              ? numberText(bots.size)
              : t('count.of', { n: shown.length, all: bots.size })}
          </span>
        }
      >
        {mayCreate() ? <NewBot onClick={() => setCreating(true)} /> : null}
      </ViewHead>
      <Filters query={query}>
        <ColumnsMenu table={BOTS_TABLE} chosen={chosen} offer={offeredColumns} isLong />
      </Filters>
      <SelectionBar hiddenOf={hiddenOf} list=".bots-list">
        {(present) => <CompareLinks ids={present} />}
      </SelectionBar>
      {shown.length === 0 ? (
        <NothingShown isFiltered={bots.size > 0} onCreate={() => setCreating(true)} />
      ) : (
        <VirtualList
          class={`bots-list${isNarrow ? ' is-narrow' : ''}`}
          count={shown.length}
          base={0}
          rowHeight={rowHeight}
          reveal={at < 0 ? undefined : at}
          revealKey={active}
          scrolled={scrolledOf(Object.fromEntries(route.value.query))}
          attributes={{
            role: 'grid',
            'aria-label': t('term.bots'),
            'aria-rowcount': shown.length + 1,
            'aria-activedescendant': at < 0 ? undefined : `bot-${active}`,
            tabIndex: 0,
            onKeyDown: moveInRow,
            style,
          }}
          header={
            <Head
              query={query}
              columns={columns}
              areAll={areAll}
              onAll={toggleAll}
              onMove={chosen.choose}
            />
          }
          keyOf={(index) => shown[index]?.id}
          row={(index) => {
            const bot = shown[index];
            if (!bot) return null;
            return (
              <Row
                bot={bot}
                columns={columns}
                inLine={inLine}
                index={index}
                isSelected={selected.has(bot.id)}
                isActive={bot.id === active}
                onToggle={(isRange) => toggle(bot.id, isRange)}
                onActive={() => setActive(bot.id)}
              />
            );
          }}
        />
      )}
      {isCreating ? <CreateBot onClose={() => setCreating(false)} /> : null}
    </div>
  );
}

function NothingShown({ isFiltered, onCreate }: { isFiltered: boolean; onCreate: () => void }) {
  if (!isLoaded.value) return <Unanswered of={loaded.value} />;
  if (isFiltered) {
    return (
      <div class="empty">
        <p>{t('bots.noMatch')}</p>
        <button type="button" onClick={() => changeQuery({ q: '' })}>
          {t('filter.clear')}
        </button>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>{t('bots.none')}</p>
      {mayCreate() ? <NewBot onClick={onCreate} /> : null}
    </div>
  );
}

function NewBot({ onClick }: { onClick: () => void }) {
  return (
    <button type="button" class="primary" onClick={onClick}>
      <Icon name="add" />
      {t('bots.new')}
    </button>
  );
}
