// Owns the table of all bots: sort, filter, search, and what is done to many at once.

import { useMemo, useRef, useState } from 'preact/hooks';
import type { BotAction, BotSnapshot } from '../../../src/client/index.js';
import { ACTION_NAMES, actOn, tellOutcome } from '../model/actions.js';
import { bots, botsVersion, isLoaded, lastLines } from '../model/live.js';
import { go, hrefTo, replaceQuery, route } from '../model/route.js';
import { settings } from '../model/settings.js';
import { useThrottled } from '../model/throttle.js';
import { age, fullTime, second } from '../model/time.js';
import { useWidth } from '../model/width.js';
import { Confirm } from '../parts/dialog.js';
import { Icon, type IconName } from '../parts/icons.js';
import { Labels } from '../parts/labels.js';
import { Status, toneOf } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { sayError } from '../parts/toasts.js';
import { ViewHead } from '../parts/view-head.js';
import { VirtualList } from '../parts/virtual-list.js';
import { useKeys } from '../shell/keys.js';
import { CreateBot } from './create-bot.js';

const REDRAW_MS = 300;
/** Below this width, in px, a bot has two lines of its own. */
const NARROW_PX = 720;
/** From this width on it is a wall display, and letters are larger. */
const WALL_PX = 2200;
const natural = new Intl.Collator('en', { numeric: true });

type Column = 'id' | 'kind' | 'status' | 'since' | 'restarts';
const COLUMNS: { name: Column; title: string }[] = [
  { name: 'id', title: 'Bot' },
  { name: 'kind', title: 'Kind' },
  { name: 'status', title: 'Status' },
  { name: 'since', title: 'For' },
  { name: 'restarts', title: 'Restarts' },
];
const COMPARE: Record<Column, (a: BotSnapshot, b: BotSnapshot) => number> = {
  id: (a, b) => natural.compare(a.id, b.id),
  kind: (a, b) => natural.compare(a.kind, b.kind) || natural.compare(a.id, b.id),
  status: (a, b) => natural.compare(a.status, b.status) || natural.compare(a.id, b.id),
  // The longest first is that which began first.
  since: (a, b) => b.since_ms - a.since_ms || natural.compare(a.id, b.id),
  restarts: (a, b) => a.restarts - b.restarts || natural.compare(a.id, b.id),
};
const ACTIONS: { action: BotAction; icon: IconName }[] = [
  { action: 'start', icon: 'start' },
  { action: 'stop', icon: 'stop' },
  { action: 'restart', icon: 'restart' },
  { action: 'delete', icon: 'delete' },
];

interface Query {
  text: string;
  status: string;
  kind: string;
  sort: Column;
  isDown: boolean;
}

function queryOf(parameters: URLSearchParams): Query {
  const sort = parameters.get('sort') as Column;
  return {
    text: parameters.get('q') ?? '',
    status: parameters.get('status') ?? '',
    kind: parameters.get('kind') ?? '',
    sort: Object.hasOwn(COMPARE, sort ?? '') ? sort : 'id',
    isDown: parameters.get('down') === '1',
  };
}

function change(query: Query, part: Partial<Query>): void {
  const { text, status, kind, sort, isDown } = { ...query, ...part };
  replaceQuery({ q: text, status, kind, sort: sort === 'id' ? '' : sort, down: isDown ? '1' : '' });
}

export function BotsView() {
  const version = useThrottled(botsVersion, REDRAW_MS);
  const query = queryOf(route.value.query);
  const width = useWidth();
  const isNarrow = width < NARROW_PX;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string>();
  const [asking, setAsking] = useState<Question>();
  const [isCreating, setCreating] = useState(false);
  const anchor = useRef<string | undefined>(undefined);
  const shown = useShown(query, version);
  const present = useMemo(() => [...selected].filter((id) => bots.has(id)), [selected, version]);

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

  useKeys('Bots', [
    { keys: 'j', does: 'Next bot', run: () => step(1) },
    { keys: 'k', does: 'Bot before', run: () => step(-1) },
    { keys: 'ArrowDown', does: 'Next bot', run: () => step(1) },
    { keys: 'ArrowUp', does: 'Bot before', run: () => step(-1) },
    {
      keys: 'Enter',
      does: 'Open the bot',
      run: () => active !== undefined && go(hrefTo('bots', active)),
    },
    {
      keys: 'x',
      does: 'Select the bot, or not',
      run: () => active !== undefined && toggle(active),
    },
    { keys: '*', does: 'Select all that are shown, or none', run: toggleAll },
    { keys: 'n', does: 'New bot', run: () => setCreating(true) },
    { keys: 'Escape', does: 'Select none', run: () => setSelected(new Set()) },
  ]);

  const rowHeight = isNarrow
    ? 62
    : (settings.value.density === 'compact' ? 30 : 38) + (width < WALL_PX ? 0 : 8);
  return (
    <div class="view-full">
      <ViewHead
        title="Bots"
        note={
          <span data-shown={shown.length}>
            {shown.length === bots.size
              ? bots.size.toLocaleString('en')
              : `${shown.length.toLocaleString('en')} of ${bots.size.toLocaleString('en')}`}
          </span>
        }
      >
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          <Icon name="add" />
          New bot
        </button>
      </ViewHead>
      <Filters query={query} version={version} />
      {present.length > 0 ? (
        <div class="selection" role="region" aria-label="Selected bots">
          <strong data-selected>{present.length.toLocaleString('en')} selected</strong>
          {ACTIONS.map(({ action, icon }) => (
            <button
              key={action}
              type="button"
              class={action === 'delete' ? 'danger' : ''}
              onClick={() => setAsking({ action, ids: present })}
            >
              <Icon name={icon} />
              {ACTION_NAMES[action]}
            </button>
          ))}
          <button type="button" class="quiet" onClick={() => setSelected(new Set())}>
            Select none
          </button>
        </div>
      ) : null}
      {shown.length === 0 ? (
        <NothingShown isFiltered={bots.size > 0} onCreate={() => setCreating(true)} />
      ) : (
        <VirtualList
          class={isNarrow ? 'bots-list is-narrow' : 'bots-list'}
          count={shown.length}
          base={0}
          rowHeight={rowHeight}
          reveal={at < 0 ? undefined : at}
          revealKey={active}
          attributes={{
            role: 'grid',
            'aria-label': 'Bots',
            'aria-rowcount': shown.length + 1,
            'aria-activedescendant': at < 0 ? undefined : `bot-${active}`,
            tabIndex: 0,
          }}
          header={<Head query={query} areAll={areAll} onAll={toggleAll} />}
          row={(index) => {
            const bot = shown[index];
            if (!bot) return null;
            return (
              <Row
                bot={bot}
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
      {asking ? (
        <ConfirmAction
          {...asking}
          onClose={() => setAsking(undefined)}
          onDone={(errors) => {
            setAsking(undefined);
            // What failed stays selected.
            setSelected(new Set(errors.keys()));
          }}
        />
      ) : null}
      {isCreating ? <CreateBot onClose={() => setCreating(false)} /> : null}
    </div>
  );
}

function useShown(query: Query, version: number): readonly BotSnapshot[] {
  const { text, status, kind, sort, isDown } = query;
  /** Nearly in order already, which makes sorting it again cheap. */
  const before = useRef<string[]>([]);
  return useMemo(() => {
    const wanted = text.toLowerCase();
    const passes = (bot: BotSnapshot): boolean =>
      (status === '' || bot.status === status) &&
      (kind === '' || bot.kind === kind) &&
      (wanted === '' || matches(bot, wanted));
    const known = new Set(before.current);
    const found: BotSnapshot[] = [];
    for (const id of before.current) {
      const bot = bots.get(id);
      if (bot && passes(bot)) found.push(bot);
    }
    for (const bot of bots.values()) if (!known.has(bot.id) && passes(bot)) found.push(bot);
    const compare = COMPARE[sort];
    found.sort(isDown ? (a, b) => compare(b, a) : compare);
    before.current = found.map(({ id }) => id);
    return found;
  }, [text, status, kind, sort, isDown, version]);
}

function matches({ id, kind, status, labels, last_error }: BotSnapshot, wanted: string): boolean {
  return (
    id.toLowerCase().includes(wanted) ||
    kind.toLowerCase().includes(wanted) ||
    status.toLowerCase().includes(wanted) ||
    (last_error?.toLowerCase().includes(wanted) ?? false) ||
    Object.entries(labels).some(([name, value]) =>
      `${name}=${value}`.toLowerCase().includes(wanted),
    )
  );
}

function idsBetween(shown: readonly BotSnapshot[], a: string, b: string): string[] {
  const [from, to] = [a, b]
    .map((id) => shown.findIndex((bot) => bot.id === id))
    .sort((x, y) => x - y);
  return shown.slice(Math.max(0, from ?? 0), (to ?? 0) + 1).map(({ id }) => id);
}

function Filters({ query, version }: { query: Query; version: number }) {
  const [statuses, kindNames] = useMemo(() => {
    const all = [...bots.values()];
    const distinct = (values: string[]): string[] => [...new Set(values)].sort(natural.compare);
    return [distinct(all.map((bot) => bot.status)), distinct(all.map((bot) => bot.kind))];
  }, [version]);
  return (
    <div class="filters" role="search">
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          data-search
          placeholder="Search bots, labels, errors"
          aria-label="Search bots"
          value={query.text}
          onInput={({ currentTarget }) => change(query, { text: currentTarget.value })}
        />
      </label>
      <select
        aria-label="Status"
        value={query.status}
        onChange={({ currentTarget }) => change(query, { status: currentTarget.value })}
      >
        <option value="">All statuses</option>
        {withChosen(statuses, query.status).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <select
        aria-label="Kind"
        value={query.kind}
        onChange={({ currentTarget }) => change(query, { kind: currentTarget.value })}
      >
        <option value="">All kinds</option>
        {withChosen(kindNames, query.kind).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </div>
  );
}

function withChosen(names: string[], chosen: string): string[] {
  return chosen === '' || names.includes(chosen) ? names : [...names, chosen];
}

function Head({ query, areAll, onAll }: { query: Query; areAll: boolean; onAll: () => void }) {
  return (
    <div class="list-head bots-row" role="row" aria-rowindex={1}>
      <span class="cell-check" role="columnheader">
        <input
          type="checkbox"
          aria-label="Select all that are shown"
          checked={areAll}
          onChange={onAll}
        />
      </span>
      {COLUMNS.map(({ name, title }) => {
        const isSorted = query.sort === name;
        return (
          <span
            key={name}
            class={`cell-${name}`}
            role="columnheader"
            aria-sort={isSorted ? (query.isDown ? 'descending' : 'ascending') : 'none'}
          >
            <button
              type="button"
              class="sort"
              onClick={() =>
                change(query, { sort: name, isDown: isSorted ? !query.isDown : false })
              }
            >
              {title}
              {isSorted ? <Icon name={query.isDown ? 'down' : 'up'} /> : null}
            </button>
          </span>
        );
      })}
      <span class="cell-line" role="columnheader">
        Last line
      </span>
      <span class="cell-labels" role="columnheader">
        Labels
      </span>
    </div>
  );
}

interface RowProps {
  bot: BotSnapshot;
  index: number;
  isSelected: boolean;
  isActive: boolean;
  onToggle: (isRange: boolean) => void;
  onActive: () => void;
}

function Row({ bot, index, isSelected, isActive, onToggle, onActive }: RowProps) {
  const { id, kind, status, since_ms, restarts, labels, last_error } = bot;
  void second.value;
  const line = lastLines.get(id);
  const tone = toneOf(status);
  return (
    <div
      class={`bots-row${isSelected ? ' is-selected' : ''}${isActive ? ' is-active' : ''}`}
      role="row"
      id={`bot-${id}`}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-bot={id}
      onMouseDown={onActive}
    >
      <span class="cell-check" role="gridcell">
        <input
          type="checkbox"
          aria-label={`Select ${id}`}
          checked={isSelected}
          onClick={(event) => {
            event.preventDefault();
            onToggle(event.shiftKey);
          }}
        />
      </span>
      <span class="cell-id" role="gridcell">
        <a href={hrefTo('bots', id)}>{id}</a>
      </span>
      <span class="cell-kind" role="gridcell">
        {kind}
      </span>
      <span class="cell-status" role="gridcell">
        <Status status={status} />
      </span>
      <span class="cell-since" role="gridcell" title={`since ${fullTime(since_ms)}`}>
        {age(since_ms)}
      </span>
      <span class={restarts > 0 ? 'cell-restarts some' : 'cell-restarts'} role="gridcell">
        {restarts}
      </span>
      <span class="cell-line" role="gridcell">
        {(tone === 'bad' || tone === 'wait') && last_error !== null ? (
          <span class="line-error">
            <LineText text={last_error} />
          </span>
        ) : line ? (
          <LineText text={line.text} />
        ) : null}
      </span>
      <span class="cell-labels" role="gridcell">
        <Labels labels={labels} />
      </span>
    </div>
  );
}

function NothingShown({ isFiltered, onCreate }: { isFiltered: boolean; onCreate: () => void }) {
  if (!isLoaded.value) return <p class="empty muted">Loading …</p>;
  if (isFiltered) {
    return (
      <div class="empty">
        <p>No bot matches.</p>
        <button type="button" onClick={() => replaceQuery({})}>
          Show all
        </button>
      </div>
    );
  }
  return (
    <div class="empty">
      <p>There are no bots yet.</p>
      <button type="button" class="primary" onClick={onCreate}>
        <Icon name="add" />
        New bot
      </button>
    </div>
  );
}

/** What is asked before it is done. The bots are those of when it was asked: what is confirmed is what was read. */
interface Question {
  action: BotAction;
  ids: readonly string[];
}

interface ConfirmProps extends Question {
  onClose: () => void;
  onDone: (errors: ReadonlyMap<string, string>) => void;
}

const NAMES_SHOWN = 8;

function ConfirmAction({ action, ids, onClose, onDone }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false);
  const many = ids.length === 1 ? ids[0] : `${ids.length.toLocaleString('en')} bots`;
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const errors = await actOn(action, ids);
      tellOutcome(action, ids, errors);
      onDone(errors);
    } catch (thrown) {
      sayError(thrown, `${ACTION_NAMES[action]} failed`);
      onClose();
    }
  };
  return (
    <Confirm
      title={`${ACTION_NAMES[action]} ${many}?`}
      action={`${ACTION_NAMES[action]} ${ids.length === 1 ? 'it' : ids.length.toLocaleString('en')}`}
      isDangerous={action === 'delete'}
      isBusy={isBusy}
      onYes={run}
      onClose={onClose}
    >
      <p class="wrap">
        {ids.slice(0, NAMES_SHOWN).join(', ')}
        {ids.length > NAMES_SHOWN
          ? ` and ${(ids.length - NAMES_SHOWN).toLocaleString('en')} more`
          : ''}
      </p>
      {action === 'delete' ? (
        <p>They are stopped and forgotten, with their configuration. There is no way back.</p>
      ) : null}
    </Confirm>
  );
}
