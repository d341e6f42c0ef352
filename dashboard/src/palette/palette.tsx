// Ctrl-K: every page, bot and action, found by some of its letters.

import { useMemo, useRef, useState } from 'preact/hooks';
import type { BotAction } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { ACTION_NAMES, actOnOne, botsText } from '../model/actions.js';
import { ask } from '../model/asked.js';
import { bots } from '../model/live.js';
import { may } from '../model/own-token.js';
import { go, hrefTo, route } from '../model/route.js';
import { set, settings, THEMES } from '../model/settings.js';
import { table } from '../model/table.js';
import { Dialog } from '../parts/dialog.js';
import { savedViews } from '../query/saved-views.js';
import { allGroups, isPaletteOpen, takeTypedAhead } from '../shell/keys.js';
import { askToLeave, openWhoAmI } from '../shell/who-am-i.js';
import { keepFailed } from '../views/selection-bar.js';
import { type Entry, type Found, find, type Offered, type Verb } from './entries.js';

interface Page {
  name: string;
  title: string;
}

const ACTIONS = Object.keys(ACTION_NAMES) as BotAction[];

export function PaletteView({ pages }: { pages: readonly Page[] }) {
  const [query, setQuery] = useState(takeTypedAhead);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  // As it was when it opened: what moves under the keys would be hit by mistake.
  const [offered] = useState(() => offeredNow(pages));
  const found = useMemo(() => find(query, offered), [query, offered]);
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const run = ({ entry }: Found): void => {
    close();
    // When the dialog has gone and the focus is back: the action may move it.
    setTimeout(entry.run);
  };
  const step = (by: number): void => {
    if (found.length === 0) return;
    const next = (active + by + found.length) % found.length;
    setActive(next);
    list.current?.children[next]?.scrollIntoView({ block: 'nearest' });
  };
  const press = (event: KeyboardEvent): void => {
    const by = STEPS[event.key];
    if (by !== undefined) {
      event.preventDefault();
      step(by);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const chosen = found[active];
      if (chosen) run(chosen);
    }
  };
  return (
    <Dialog title="Go to a page, a bot or an action" onClose={close} isWide>
      <div class="dialog-body palette">
        <input
          type="text"
          role="combobox"
          aria-label="Page, bot or action"
          aria-autocomplete="list"
          aria-expanded={found.length > 0}
          aria-controls="palette-list"
          aria-activedescendant={found.length > 0 ? `palette-${active}` : undefined}
          placeholder="log, demo-1, stop demo-1, dark…"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={query}
          onInput={({ currentTarget }) => {
            setQuery(currentTarget.value);
            setActive(0);
            list.current?.scrollTo(0, 0);
          }}
          onKeyDown={press}
        />
        <div ref={list} id="palette-list" role="listbox" aria-label="Found">
          {found.map((one, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys, as a combobox does
            <div
              key={one.entry.key}
              id={`palette-${at}`}
              role="option"
              // The focus stays in the field.
              tabIndex={-1}
              aria-selected={at === active}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => run(one)}
            >
              <span class="palette-title">
                <Marked {...one} />
              </span>
              <span class="muted">{visible(one.entry.hint)}</span>
              {one.entry.keys === undefined ? null : <kbd>{one.entry.keys}</kbd>}
            </div>
          ))}
        </div>
        <p class="muted" role="status">
          {found.length === 0 ? 'Nothing is named like that.' : ''}
        </p>
      </div>
    </Dialog>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 8,
  PageUp: -8,
};

function Marked({ entry: { title }, places }: Found) {
  if (places.length === 0) return <>{visible(title)}</>;
  const found = new Set(places);
  // One element for each run of letters.
  const runs: { text: string; isFound: boolean }[] = [];
  for (const [at, letter] of title.split('').entries()) {
    const isFound = found.has(at);
    const last = runs.at(-1);
    if (last?.isFound === isFound) last.text += letter;
    else runs.push({ text: letter, isFound });
  }
  return (
    <>
      {runs.map(({ text, isFound }, at) =>
        isFound ? <b key={at}>{visible(text)}</b> : visible(text),
      )}
    </>
  );
}

function offeredNow(pages: readonly Page[]): Offered {
  return {
    entries: [...pagesOf(pages), ...ofBot(), ...ofSelection(), ...ofPage(), ...ofUser()],
    bots: new Map(
      [...bots.values()].map(({ id, kind, status }) => [id, `bot, ${kind}, ${status}`]),
    ),
    open: (id) => go(hrefTo('bots', id)),
    verbs: verbs(),
  };
}

function pagesOf(pages: readonly Page[]): Entry[] {
  return [
    ...pages.map(({ name, title }) => ({
      key: `page ${name}`,
      title,
      hint: 'page',
      run: () => go(hrefTo(name)),
    })),
    ...savedViews.peek().map(({ name, view, query }) => ({
      key: `view ${view} ${name}`,
      title: name,
      hint: `saved view of ${view}`,
      run: () => go(`#/${view}?${query}`),
    })),
  ];
}

/** What can be done with one bot. */
function verbs(): Verb[] {
  const tabs = ['commands', 'incidents', 'config'];
  return [
    { name: 'Open', run: (id) => go(hrefTo('bots', id)) },
    ...(may('control') ? ACTIONS : []).map((action) => ({
      name: ACTION_NAMES[action],
      run: (id: string) =>
        // A start does no harm, and can be undone.
        action === 'start' ? void actOnOne(action, id) : ask({ action, ids: [id] }),
    })),
    ...(may('invoke')
      ? [{ name: 'Run', run: (id: string) => ask({ action: 'command', ids: [id] }) }]
      : []),
    ...tabs.map((tab) => ({
      name: `${tab.slice(0, 1).toUpperCase()}${tab.slice(1)}`,
      run: (id: string) => go(hrefTo('bots', id, { tab })),
    })),
  ];
}

/** What can be done with the bot whose page is open. */
function ofBot(): Entry[] {
  const { view, part } = route.peek();
  if (view !== 'bots' || !bots.has(part)) return [];
  return verbs()
    .filter(({ name }) => name !== 'Open')
    .map(({ name, run }) => ({
      key: `this ${name}`,
      title: `${name} ${part}`,
      hint: 'this bot',
      run: () => run(part),
    }));
}

function ofSelection(): Entry[] {
  const ids = [...table.peek().selected].filter((id) => bots.has(id));
  if (ids.length === 0) return [];
  const hint = `selection of ${botsText(ids.length)}`;
  return [
    ...(may('control') ? ACTIONS : []).map((action) => ({
      key: `selection ${action}`,
      title: `${ACTION_NAMES[action]} ${botsText(ids.length)}`,
      hint,
      run: () => ask({ action, ids, onDone: keepFailed }),
    })),
    ...(may('control')
      ? [
          {
            key: 'selection config',
            title: `Change ${botsText(ids.length)}`,
            hint,
            run: () => ask({ action: 'config', ids }),
          },
        ]
      : []),
    ...(may('invoke')
      ? [
          {
            key: 'selection command',
            title: `Run a command on ${botsText(ids.length)}`,
            hint,
            run: () => ask({ action: 'command', ids }),
          },
        ]
      : []),
  ];
}

/** What has a key on this page. Pages are in the list already. */
function ofPage(): Entry[] {
  const entries = new Map<string, Entry>();
  for (const { title, bindings } of allGroups()) {
    for (const { keys, does, run } of bindings) {
      if (keys.startsWith('g ') || keys.startsWith('Ctrl ') || entries.has(does)) continue;
      entries.set(does, { key: `key ${does}`, title: does, hint: title, keys, run });
    }
  }
  return [...entries.values()];
}

function ofUser(): Entry[] {
  const { theme } = settings.peek();
  return [
    ...THEMES.filter((one) => one !== theme).map((one) => ({
      key: `theme ${one}`,
      title: `Theme: ${one}`,
      hint: 'setting',
      run: () => set({ theme: one }),
    })),
    { key: 'who', title: 'Who am I', hint: 'sign-in', run: openWhoAmI },
    { key: 'out', title: 'Sign out', hint: 'sign-in', run: () => void askToLeave() },
  ];
}
