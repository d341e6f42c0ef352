// The command line of a bot, below its log: completion from the schemas of its commands, history, results in place.

import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { ask } from '../model/asked.js';
import { may } from '../model/own-token.js';
import { Icon } from '../parts/icons.js';
import { NeedsScope } from '../parts/needs-scope.js';
import { Offers, offerId, putText } from '../parts/offers.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { CallEntry } from './call-entry.js';
import {
  callsOf,
  cancelCall,
  clearCalls,
  draftOf,
  keepDraft,
  noteLine,
  runCall,
  typedLines,
} from './calls.js';
import { completeLine, type LineOffer, type LineOffers } from './complete-line.js';
import { type Commands, parseLine } from './parse-line.js';
import { useCommands } from './use-commands.js';

const NONE: LineOffers = { from: 0, to: 0, items: [] };

export function Console({ bot }: { bot: BotSnapshot }) {
  const commands = useCommands(bot);
  const calls = callsOf(bot.id);
  const list = useRef<HTMLOListElement>(null);
  const whole = useRef<HTMLElement>(null);
  const newest = calls[0]?.key;
  useEffect(() => {
    // The newest is the last.
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
    // On a narrow screen the list would push the line that is being typed out of the window.
    const { activeElement } = document;
    if (whole.current?.contains(activeElement)) activeElement?.scrollIntoView({ block: 'nearest' });
  }, [calls]);
  if (!commands || Object.keys(commands).length === 0) return null;
  const name = t('console.callList');
  return (
    <section ref={whole} class="console" aria-label={t('console.title')}>
      {calls.length === 0 ? null : (
        <>
          <header>
            <span class="muted">
              {t('console.session', {
                calls: t('console.callCount', { n: calls.length }),
              })}
            </span>
            <button type="button" class="quiet" onClick={() => clearCalls(bot.id)}>
              {t('console.clear')}
            </button>
          </header>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard */}
          <ol ref={list} class="results" tabIndex={0} aria-label={name} data-newest={newest}>
            {calls.toReversed().map((call) => (
              <CallEntry key={call.key} call={call} />
            ))}
          </ol>
        </>
      )}
      {may('invoke') ? (
        <Prompt bot={bot.id} commands={commands} />
      ) : (
        <p class="console-none">
          <NeedsScope scope="invoke" to={t('scope.sendCommands')} />
        </p>
      )}
    </section>
  );
}

function Prompt({ bot, commands }: { bot: string; commands: Commands }) {
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const [line, setLine] = useState(() => draftOf(bot));
  const [offered, setOffered] = useState(NONE);
  const [active, setActive] = useState(-1);
  /** Whether the line was refused; what is wrong with it is read from it. */
  const [isRefused, setRefused] = useState(false);
  /** How far back in the history the line is; 0 is the line that is being typed, which is kept. */
  const [back, setBack] = useState(0);
  const draft = useRef('');
  const example = useMemo(() => Object.keys(commands).slice(0, 3).join(', '), [commands]);
  useKeys(t('console.title'), [
    { keys: ':', does: t('console.type'), run: () => input.current?.focus() },
  ]);

  const close = (): void => {
    setOffered(NONE);
    setActive(-1);
  };
  const offer = (next: string, cursor: number): void => {
    setOffered(completeLine(next, cursor, commands));
    setActive(-1);
  };
  const type = (next: string): void => {
    setLine(next);
    keepDraft(bot, next);
    setRefused(false);
    setBack(0);
  };
  const take = ({ insert }: LineOffer): void => {
    const before = line.slice(0, offered.from) + insert;
    const next = before + line.slice(offered.to).trimStart();
    type(next);
    putText(input.current, next, before.length);
    offer(next, before.length);
  };
  const recall = (by: number): void => {
    const lines = typedLines();
    const to = Math.max(0, Math.min(lines.length, back + by));
    if (to === back) return;
    if (back === 0) draft.current = line;
    setBack(to);
    setRefused(false);
    setLine(to === 0 ? draft.current : (lines.at(-to) ?? ''));
    close();
  };
  const run = (): void => {
    close();
    try {
      const { command, args } = parseLine(line, commands);
      noteLine(line.trim());
      type('');
      draft.current = '';
      runCall(bot, command, args, commands[command]?.args ?? {}).catch(() => {
        // The call's own entry says what went wrong.
      });
    } catch {
      setRefused(true);
    }
  };
  const press = (event: KeyboardEvent): void => {
    const { items } = offered;
    const isOpen = items.length > 0;
    const { key } = event;
    if (key === 'ArrowUp' || key === 'ArrowDown') {
      event.preventDefault();
      const by = key === 'ArrowDown' ? 1 : -1;
      // One position more than there are items: no item is chosen.
      if (isOpen) setActive(((active + 1 + by + items.length + 1) % (items.length + 1)) - 1);
      else recall(-by);
    } else if (key === 'Tab' && !event.shiftKey && isOpen) {
      event.preventDefault();
      const chosen = items[Math.max(0, active)];
      if (chosen) take(chosen);
    } else if (key === 'Enter') {
      event.preventDefault();
      const chosen = items[active];
      if (chosen) take(chosen);
      else run();
    } else if (key === 'Escape' && isOpen) {
      event.preventDefault();
      close();
    } else if (key === 'c' && event.ctrlKey && String(getSelection()) === '') {
      const running = callsOf(bot).find(({ state }) => state === 'running');
      if (!running) return;
      event.preventDefault();
      cancelCall(running.key);
    }
  };
  const error = isRefused ? faultIn(line, commands) : '';
  const listId = `${id}-offers`;
  return (
    <form
      class="prompt"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <span class="prompt-mark" aria-hidden="true">
        ›
      </span>
      <div class="prompt-field">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label={t('console.commandFor', { bot })}
          aria-autocomplete="list"
          aria-expanded={offered.items.length > 0}
          aria-controls={listId}
          aria-activedescendant={active < 0 ? undefined : offerId(listId, active)}
          aria-invalid={error !== ''}
          aria-describedby={error === '' ? undefined : `${id}-error`}
          placeholder={`${example}${Object.keys(commands).length > 3 ? ', …' : ''}`}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={line}
          onInput={({ currentTarget: { value, selectionStart } }) => {
            type(value);
            // An empty line leaves the arrows to the history.
            if (value === '') close();
            else offer(value, selectionStart ?? value.length);
          }}
          onBlur={close}
          onKeyDown={press}
        />
        <Offers id={listId} items={offered.items} active={active} onTake={take} />
      </div>
      <button
        type="submit"
        class="primary"
        aria-label={t('console.runLabel')}
        disabled={line === ''}
      >
        <Icon name="start" />
        <span>{t('button.run')}</span>
      </button>
      <button
        type="button"
        title={t('console.form')}
        aria-label={t('console.form')}
        onClick={() => ask({ action: 'command', ids: [bot] })}
      >
        <Icon name="edit" />
      </button>
      {error === '' ? null : (
        <p class="prompt-error" id={`${id}-error`} role="status">
          {error}
        </p>
      )}
    </form>
  );
}

/** The fault of a line; empty if there is none. */
function faultIn(line: string, commands: Commands): string {
  try {
    parseLine(line, commands);
    return '';
  } catch (thrown) {
    return (thrown as Error).message;
  }
}
