// The time range of the page: what it is, steps to earlier and later, and a menu to pick one or to type it.

import { useRef, useState } from 'preact/hooks';
import { recorded } from '../model/event-source.js';
import { settings } from '../model/settings.js';
import { serverNow } from '../model/time.js';
import { isLive, presentBounds, showRange, timeRange } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { type Parsed, parseRange } from './parse-range.js';
import { LIVE, type TimeRange } from './range.js';
import { RangeHandle } from './range-handle.js';
import { lastText, rangeText } from './range-text.js';

const MINUTE_MS = 60_000;
/** Lengths that end now, in ms. */
const PRESETS = [5, 15, 60, 6 * 60, 24 * 60, 7 * 24 * 60].map((minutes) => minutes * MINUTE_MS);
/** The length that a step has in a range without a beginning, in ms. */
const DEFAULT_MS = 15 * MINUTE_MS;

/** @param withHandle where the page shows a moment of the range. */
export function RangePicker({ withHandle = false }: { withHandle?: boolean }) {
  const range = timeRange.value;
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => {
    menu.current?.removeAttribute('open');
    menu.current?.querySelector('summary')?.focus();
  };
  const pick = (next: TimeRange): void => {
    close();
    showRange(next);
  };
  useKeys(t('term.time'), [
    { keys: 't', does: t('range.choose'), run: () => open(menu.current) },
    { keys: '[', does: t('range.earlier'), run: () => step(-1) },
    { keys: ']', does: t('range.later'), run: () => step(1) },
    { keys: 'l', does: t('range.live'), run: () => showRange(LIVE) },
  ]);
  return (
    <fieldset class="range-picker" aria-label={t('range.title')}>
      <button
        type="button"
        class="quiet square"
        aria-label={t('range.earlier')}
        title={t('range.halfEarlier')}
        onClick={() => step(-1)}
      >
        <Icon name="left" />
      </button>
      <details
        class="menu"
        ref={menu}
        onToggle={({ currentTarget }) =>
          currentTarget.open && currentTarget.querySelector('input')?.select()
        }
        onFocusOut={({ relatedTarget }) => {
          if (relatedTarget && !menu.current?.contains(relatedTarget as Node)) {
            menu.current?.removeAttribute('open');
          }
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !menu.current?.open) return;
          event.preventDefault();
          event.stopPropagation();
          close();
        }}
      >
        <summary
          aria-label={t('range.titleOf', { range: rangeText(range) })}
          title={t('range.titleKey')}
        >
          <Icon name="clock" />
          <span data-range>{rangeText(range)}</span>
        </summary>
        <div class="menu-items range-menu">
          <Typed onPick={pick} />
          <button type="button" aria-pressed={isSame(range, LIVE)} onClick={() => pick(LIVE)}>
            {t(recorded.value ? 'range.wholeRun' : 'range.fromBeginning')}
          </button>
          {(recorded.value ? [] : PRESETS).map((agoMs) => (
            <button
              key={agoMs}
              type="button"
              aria-pressed={isSame(range, { ...LIVE, from: { agoMs } })}
              onClick={() => pick({ ...LIVE, from: { agoMs } })}
            >
              {lastText(agoMs)}
            </button>
          ))}
        </div>
      </details>
      <button
        type="button"
        class="quiet square"
        aria-label={t('range.later')}
        title={t('range.halfLater')}
        aria-disabled={isLive.value}
        onClick={() => step(1)}
      >
        <Icon name="right" />
      </button>
      {isLive.value ? null : (
        <button
          type="button"
          class="range-live"
          title={t(recorded.value ? 'range.wholeRun' : 'range.backToNow')}
          onClick={() => showRange(LIVE)}
        >
          {t(recorded.value ? 'range.wholeRun' : 'range.live')}
        </button>
      )}
      {withHandle ? <RangeHandle /> : null}
    </fieldset>
  );
}

function Typed({ onPick }: { onPick: (range: TimeRange) => void }) {
  const [text, setText] = useState('');
  const [isRefused, setRefused] = useState(false);
  const read = (): Parsed => parseRange(text, { nowMs: serverNow(), zone: settings.value.zone });
  const submit = (event: Event): void => {
    event.preventDefault();
    const parsed = read();
    if ('error' in parsed) {
      setRefused(true);
      return;
    }
    setText('');
    onPick(parsed.range);
  };
  const parsed = isRefused ? read() : undefined;
  const fault = parsed && 'error' in parsed ? parsed.error : '';
  return (
    <form class="range-typed" onSubmit={submit}>
      <input
        type="text"
        aria-label={t('range.type')}
        placeholder="14:02 - 14:10"
        autocomplete="off"
        spellcheck={false}
        maxLength={80}
        aria-invalid={fault !== ''}
        aria-describedby={fault === '' ? undefined : 'range-fault'}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setRefused(false);
        }}
      />
      <button type="submit">{t('range.show')}</button>
      {fault === '' ? (
        <p class="muted">{t('range.examples')}</p>
      ) : (
        <p class="query-error" id="range-fault" role="alert">
          {fault}
        </p>
      )}
    </form>
  );
}

function open(menu: HTMLDetailsElement | null): void {
  menu?.setAttribute('open', '');
}

/** Moves the range by half of its length. @param by -1 for earlier. One that would end after now is live. */
function step(by: -1 | 1): void {
  const { from } = timeRange.peek();
  const now = serverNow();
  const bounds = presentBounds();
  if (by > 0 && bounds.toMs === undefined) return;
  const toMs = bounds.toMs ?? now;
  const length = bounds.fromMs === undefined ? DEFAULT_MS : toMs - bounds.fromMs;
  const nextMs = toMs + (by * length) / 2;
  if (nextMs >= now) showRange(from ? { ...LIVE, from: { agoMs: wholeSeconds(length) } } : LIVE);
  else showRange({ from: from && { ms: nextMs - length }, toMs: nextMs, momentMs: undefined });
}

/** Lengths are written in seconds. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1000)) * 1000;
}

function isSame(one: TimeRange, other: TimeRange): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
