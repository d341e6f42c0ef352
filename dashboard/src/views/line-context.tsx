// The lines of a bot around one line, without the filter of the log beside it. In the address as `around`.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Line } from '../hub/messages.js';
import { changeQuery, hrefIn, route } from '../model/route.js';
import { day, serverNow } from '../model/time.js';
import { useWidth } from '../model/width.js';
import { useFocusFor } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { say } from '../parts/toasts.js';
import { momentText } from '../range/range-text.js';
import { t } from '../texts/text.js';
import { useLogCells } from './log-cells.js';
import { OF_ITS_BOT, useLogColumns } from './log-columns.js';
import { NARROW_PX } from './log-layout.js';
import { LogList } from './log-list.js';
import { useLogWindow } from './use-log-window.js';

/** Rows that are shown before the line. */
const BEFORE = 4;

/** Whose lines, and around which. */
export interface Around {
  /** Null: of the service, whose lines are among those of all bots. */
  bot: string | null;
  id: string;
}

/** `demo-1:1d0b52646d-119`; ids have no colons. */
export function aroundOf(text: string | null): Around | undefined {
  const [, bot, id] = /^([^:]*):([^:]+)$/.exec(text ?? '') ?? [];
  return id === undefined ? undefined : { bot: bot === '' ? null : (bot ?? null), id };
}

export function showAround({ bot, id }: Pick<Line, 'bot' | 'id'>): void {
  changeQuery({ around: `${bot ?? ''}:${id}` });
}

export function hideAround(): void {
  changeQuery({ around: '' });
}

export function useAround(): Around | undefined {
  return aroundOf(route.value.query.get('around'));
}

/** The keys of the log while it is shown. */
export interface ContextKeys {
  step: (by: number) => void;
  moveCell: (by: number) => void;
}

interface Props {
  around: Around;
  keys: { current: ContextKeys | undefined };
}

export function LineContext({ around: { bot, id }, keys }: Props) {
  const following = useRef(false);
  const element = useRef<HTMLElement>(null);
  useFocusFor('.log-list', element);
  const filter = { query: '', bot: bot ?? undefined };
  const [cursor, setCursor] = useState(id);
  const [reveal, setReveal] = useState<{ id: string; before: number }>();
  const { shown } = useLogWindow(filter, id, following, (found) => {
    if (found === undefined) say(t('log.notStored'));
    else setReveal({ id: found, before: BEFORE });
  });
  void shown.version.value;
  const { rows, base } = shown;
  useEffect(() => element.current?.querySelector<HTMLElement>('.list')?.focus(), []);
  const at = rows.findIndex((line) => line.id === cursor);
  const step = (by: number): void => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, Math.max(at, 0) + by))];
    if (!next) return;
    setCursor(next.id);
    setReveal({ id: next.id, before: 0 });
  };
  const isNarrow = useWidth() < NARROW_PX;
  const chosen = useLogColumns(isNarrow);
  const columns = useMemo(
    () => chosen.columns.filter((one) => bot === null || !OF_ITS_BOT.includes(one.name)),
    [chosen.columns, bot],
  );
  const cells = useLogCells(columns);
  keys.current = { step, moveCell: cells.move };
  const today = day(serverNow());
  const line = rows.find((one) => one.id === id);
  const revealAt = reveal ? rows.findIndex((one) => one.id === reveal.id) : -1;
  const name = bot === null ? t('log.allLines') : t('log.linesOf', { bot });
  return (
    <section ref={element} class="line-context of-one" aria-label={t('log.around')}>
      <header>
        <button type="button" onClick={hideAround} title={t('log.backHint')}>
          <Icon name="left" />
          {t('log.back')}
        </button>
        <h2>
          {bot === null ? name : <a href={hrefIn('bots', bot)}>{name}</a>}
          {line ? (
            <span class="muted"> {t('log.aroundTime', { time: momentText(line.at) })}</span>
          ) : null}
        </h2>
      </header>
      <LogList
        label={t('log.aroundLabel', { lines: name })}
        name="around"
        chosen={chosen}
        columns={columns}
        cells={cells}
        isNarrow={isNarrow}
        count={rows.length}
        base={base}
        lineAt={(index) => rows[index]}
        cursor={at}
        look={(one) => ({ isSelected: one.id === id })}
        today={today}
        onChoose={(index) => setCursor(rows[index]?.id ?? cursor)}
        onNearTop={() => void shown.older()}
        onNearEnd={() => void shown.newer()}
        reveal={revealAt < 0 ? undefined : Math.max(0, revealAt - (reveal?.before ?? 0))}
        revealKey={reveal}
      />
      {rows.length === 0 ? <p class="empty muted log-nothing">{t('state.loading')}</p> : null}
    </section>
  );
}
