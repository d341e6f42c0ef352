// The herd of a run at a moment: a cell for each bot. A slider goes over the run.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { printQuery } from '../../../src/shared/query/print-query.js';
import { Cells, STATES, stateOf } from '../herd/cells.js';
import { boxOf, cellAt, type Layout, layOut } from '../herd/layout.js';
import { Scene } from '../herd/scene.js';
import { readPalette } from '../herd/sprites.js';
import { walk } from '../herd/walk.js';
import { theme } from '../model/settings.js';
import { Icon } from '../parts/icons.js';
import { Status } from '../parts/status.js';
import { numberText, t } from '../texts/text.js';
import type { OpenRun } from './open-runs.js';
import { showInRun } from './run-address.js';
import type { HerdBot } from './run-bots.js';
import type { RunBot } from './run-facts.js';
import { lengthText, sinceText } from './run-time.js';

/** Steps of the slider. */
const STEPS = 500;
/** The address is written this often at most while the slider moves, in ms. */
const WRITE_MS = 150;
/** Height up to which cells are as large as they can be, as a share of the window's. */
const HEIGHT = 0.45;
const NO_HOSTS: ReadonlySet<string> = new Set();
/** Statuses with a count. */
const MAX_STATUSES = 16;

export function RunHerd({ run, atMs }: { run: OpenRun; atMs: number | undefined }) {
  const recording = run.facts?.recording;
  const lengthMs = recording?.lengthMs ?? 0;
  const [moved, setMoved] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => setMoved(undefined), [atMs]);
  const shown = moved ?? atMs ?? lengthMs;
  const [bots, setBots] = useState<readonly HerdBot[]>();
  useEffect(() => {
    let isGone = false;
    run.link.ask('herd', [shown]).then(
      (found) => !isGone && setBots(found),
      // The log says what is wrong.
      () => {},
    );
    return () => {
      isGone = true;
    };
  }, [run.link, shown]);
  const move = (ms: number): void => {
    const next = Math.max(0, Math.min(lengthMs, ms));
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => showInRun({ atMs: next }), WRITE_MS);
  };
  const step = Math.max(1, lengthMs / STEPS);
  return (
    <section class="run-part run-herd" aria-label={t('herd.title')}>
      <div class="moment" data-moment={Math.round(shown)}>
        <button
          type="button"
          class="quiet square"
          aria-label={t('moment.earlier')}
          onClick={() => move(shown - step)}
        >
          <Icon name="left" />
        </button>
        <input
          type="range"
          aria-label={t('moment.title')}
          aria-valuetext={sinceText(shown)}
          min={0}
          max={lengthMs}
          step={step}
          value={shown}
          onInput={({ currentTarget }) => move(Number(currentTarget.value))}
        />
        <button
          type="button"
          class="quiet square"
          aria-label={t('moment.later')}
          onClick={() => move(shown + step)}
        >
          <Icon name="right" />
        </button>
        <output>{sinceText(shown)}</output>
      </div>
      {bots === undefined ? null : bots.length === 0 ? (
        <p class="empty muted">{t('runs.noBots')}</p>
      ) : (
        <>
          <Statuses bots={bots} />
          <RunCells run={run} bots={bots} atMs={shown} />
        </>
      )}
    </section>
  );
}

function Statuses({ bots }: { bots: readonly HerdBot[] }) {
  const counts = new Map<string, number>();
  for (const { status } of bots) counts.set(status, (counts.get(status) ?? 0) + 1);
  const rank = (status: string): number => STATES.indexOf(stateOf(status));
  const sorted = [...counts].sort(([a, m], [b, n]) => rank(a) - rank(b) || n - m);
  return (
    <ul class="legend run-statuses" aria-label={t('herd.byStatus')}>
      {sorted.slice(0, MAX_STATUSES).map(([status, count]) => (
        <li key={status}>
          <Status status={status} /> <span data-count={status}>{numberText(count)}</span>
        </li>
      ))}
      {sorted.length > MAX_STATUSES ? (
        <li class="muted">{t('count.more', { n: sorted.length - MAX_STATUSES })}</li>
      ) : null}
    </ul>
  );
}

/** One tab stop; arrows move from bot to bot, Enter or a click opens the lines of one. */
function RunCells({ run, bots, atMs }: { run: OpenRun; bots: readonly HerdBot[]; atMs: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [layout, setLayout] = useState<Layout>();
  const [active, setActive] = useState<string>();
  const cells = useRef(new Cells()).current;
  const byId = useMemo(() => new Map(bots.map((bot) => [bot.id, bot])), [bots]);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    const [pulses, drawn, marks] = element?.querySelectorAll('canvas') ?? [];
    if (!element || !pulses || !drawn || !marks || width === 0) return;
    cells.update(byId, 'kind', NO_HOSTS);
    const next = layOut(cells.groups, width, window.innerHeight * HEIGHT, 1);
    const scene = new Scene({ pulses, cells: drawn, marks });
    scene.show({
      cells,
      layout: next,
      width,
      palette: readPalette(element),
      isLit: () => true,
      isSelected: () => false,
    });
    setLayout(next);
    return () => scene.close();
  }, [byId, width, theme.value]);
  const at = active === undefined ? 0 : (cells.indexOf(active) ?? 0);
  const id = layout && at < cells.count ? (cells.ids[at] ?? '') : '';
  const known = run.facts?.recording?.bots.find((bot) => bot.id === id);
  const open = (bot: string): void =>
    showInRun({
      part: 'log',
      query: printQuery([
        { type: 'field', isNot: false, field: 'bot', path: '', op: ':', values: [[bot]] },
      ]),
      afterMs: undefined,
      beforeMs: undefined,
      atMs,
    });
  const over = ({ clientX, clientY }: MouseEvent): string | undefined => {
    const { left, top } = box.current?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const index = layout && cellAt(layout, clientX - left, clientY - top);
    return index === undefined ? undefined : cells.ids[index];
  };
  const press = (event: KeyboardEvent): void => {
    if (!layout || event.altKey || event.metaKey) return;
    const to = walk(layout, at, event.key, event.ctrlKey, () => true);
    if (to !== undefined) setActive(cells.ids[to]);
    else if (event.key === 'Enter' && id !== '') open(id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const cursor = layout && id !== '' ? boxOf(layout, at) : undefined;
  const status = byId.get(id)?.status ?? '';
  return (
    <>
      <div
        ref={box}
        class="herd-box"
        data-herd={layout?.count}
        style={{ height: `${layout?.height ?? 0}px` }}
      >
        <div class="herd-drawn" aria-hidden="true">
          <canvas />
          <canvas />
          <canvas />
          <div class="herd-titles">
            {layout?.blocks.map(({ key, title, count, x, y, width: wide }) => (
              <div
                key={key}
                class="herd-title"
                style={{ left: `${x}px`, top: `${y}px`, width: `${wide}px` }}
              >
                <span class="herd-title-name">{visible(title)}</span>
                <span class="muted">{numberText(count)}</span>
              </div>
            ))}
          </div>
        </div>
        <div
          class="herd-cells"
          role="listbox"
          aria-label={t('runs.bots')}
          aria-activedescendant={id === '' ? undefined : 'run-herd-cell'}
          tabIndex={0}
          onKeyDown={press}
          onPointerMove={(event) => setActive(over(event) ?? active)}
          onClick={(event) => {
            const bot = over(event);
            if (bot !== undefined) open(bot);
          }}
        >
          {cursor ? (
            <div
              role="option"
              id="run-herd-cell"
              class="herd-cursor is-shown"
              style={{
                transform: `translate(${cursor.x}px, ${cursor.y}px)`,
                width: `${cursor.width}px`,
                height: `${cursor.height}px`,
              }}
              aria-selected="false"
              aria-setsize={layout?.count}
              aria-posinset={at + 1}
              aria-label={`${id}, ${visible(status)}`}
            />
          ) : null}
        </div>
      </div>
      {id === '' ? null : (
        <p class="run-bot">
          <strong>{visible(id)}</strong> <Status status={status} />
          {known ? <span class="muted">{factsText(known)}</span> : null}
          <button type="button" onClick={() => open(id)}>
            {t('runs.itsLines')}
          </button>
        </p>
      )}
    </>
  );
}

function factsText({ kind, lines, errors, firstMs }: RunBot): string {
  const facts = {
    kind: visible(kind),
    lines: t('count.lines', { n: lines }),
    errors: t('range.errors', { n: errors }),
  };
  return firstMs > 0
    ? t('runs.botFactsFrom', { ...facts, time: lengthText(firstMs) })
    : t('runs.botFacts', facts);
}
