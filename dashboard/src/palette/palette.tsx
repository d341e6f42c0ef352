// Ctrl-K: every page, bot and action, found by some of its letters.

import { useMemo, useRef, useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { ACTIONS, actionText, actOnOne, botsText } from '../model/actions.js';
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
import { t } from '../texts/text.js';
import { keepFailed } from '../views/selection-bar.js';
import { type Entry, type Found, find, type Offered, type Verb } from './entries.js';

interface Page {
  name: string;
  title: string;
}

export function PaletteView({ pages }: { pages: readonly Page[] }) {
  const [query, setQuery] = useState(takeTypedAhead);
  const [active, setActive] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  // As it was when it opened: entries that move under the keys would be hit by mistake.
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
    <Dialog title={t('palette.title')} onClose={close} isWide>
      <div class="dialog-body palette">
        <input
          type="text"
          role="combobox"
          aria-label={t('palette.field')}
          aria-autocomplete="list"
          aria-expanded={found.length > 0}
          aria-controls="palette-list"
          aria-activedescendant={found.length > 0 ? `palette-${active}` : undefined}
          placeholder={t('palette.placeholder')}
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
        <div ref={list} id="palette-list" role="listbox" aria-label={t('palette.found')}>
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
          {found.length === 0 ? t('palette.nothing') : ''}
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

function Marked({ entry: { title }, matchedAt }: Found) {
  if (matchedAt.length === 0) return <>{visible(title)}</>;
  const found = new Set(matchedAt);
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
      [...bots.values()].map(({ id, kind, status }) => [id, t('palette.bot', { kind, status })]),
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
      hint: t('palette.page'),
      run: () => go(hrefTo(name)),
    })),
    ...savedViews.peek().map(({ name, view, query }) => ({
      key: `view ${view} ${name}`,
      title: name,
      hint: t('palette.savedView', { view }),
      run: () => go(`#/${view}?${query}`),
    })),
  ];
}

/** The tabs of a bot's page, by the words for them. */
const BOT_TABS = [
  { tab: 'incidents', name: 'page.incidents' },
  { tab: 'config', name: 'palette.config' },
] as const;
const THEME_TITLES = {
  system: 'palette.themeSystem',
  light: 'palette.themeLight',
  dark: 'palette.themeDark',
} as const;

/** The actions on one bot. */
function verbs(): Verb[] {
  return [
    { name: t('button.open'), run: (id) => go(hrefTo('bots', id)) },
    ...(may('control') ? ACTIONS : []).map((action) => ({
      name: actionText(action),
      run: (id: string) =>
        // A start does no harm, and can be undone.
        action === 'start' ? void actOnOne(action, id) : ask({ action, ids: [id] }),
    })),
    ...(may('invoke')
      ? [{ name: t('button.run'), run: (id: string) => ask({ action: 'command', ids: [id] }) }]
      : []),
    ...BOT_TABS.map(({ tab, name }) => ({
      name: t(name),
      run: (id: string) => go(hrefTo('bots', id, { tab })),
    })),
  ];
}

/** The actions on the bot whose page is open. */
function ofBot(): Entry[] {
  const { view, part } = route.peek();
  if (view !== 'bots' || !bots.has(part)) return [];
  return verbs()
    .filter(({ name }) => name !== t('button.open'))
    .map(({ name, run }) => ({
      key: `this ${name}`,
      title: `${name} ${part}`,
      hint: t('palette.thisBot'),
      run: () => run(part),
    }));
}

function ofSelection(): Entry[] {
  const ids = [...table.peek().selected].filter((id) => bots.has(id));
  if (ids.length === 0) return [];
  const hint = t('palette.selection', { bots: botsText(ids.length) });
  return [
    ...(may('control') ? ACTIONS : []).map((action) => ({
      key: `selection ${action}`,
      title: t('action.on', { action: actionText(action), target: botsText(ids.length) }),
      hint,
      run: () => ask({ action, ids, onDone: keepFailed }),
    })),
    ...(may('control')
      ? [
          {
            key: 'selection config',
            title: t('bulk.change', { bots: botsText(ids.length) }),
            hint,
            run: () => ask({ action: 'config', ids }),
          },
        ]
      : []),
    ...(may('invoke')
      ? [
          {
            key: 'selection command',
            title: t('bulk.runOn', { bots: botsText(ids.length) }),
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
      title: t(THEME_TITLES[one]),
      hint: t('palette.setting'),
      run: () => set({ theme: one }),
    })),
    { key: 'who', title: t('who.title'), hint: t('palette.signIn'), run: openWhoAmI },
    { key: 'out', title: t('signIn.out'), hint: t('palette.signIn'), run: () => void askToLeave() },
  ];
}
