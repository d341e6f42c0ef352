import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { MAX_QUERY } from '../../../src/shared/contract/query-bounds.js';
import type { QueryUse } from '../../../src/shared/query/fields.js';
import { printTerm } from '../../../src/shared/query/print-query.js';
import { CloseButton } from '../parts/close-button.js';
import { Icon } from '../parts/icons.js';
import { Offers, offerId, putText } from '../parts/offers.js';
import { t } from '../texts/text.js';
import { checkedQuery } from './checked-query.js';
import { type Completion, type Completions, complete } from './complete-query.js';
import { inverted, removed } from './edit-query.js';
import { offersNow } from './offers.js';

interface Props {
  /** For labels: `bots` or `lines`. */
  use: QueryUse;
  /** The query of the view. */
  value: string;
  onChange: (query: string) => void;
  /** How long to wait for more letters, in ms: searching the journal is expensive. */
  waitMs: number;
}

const NONE: Completions = { from: 0, to: 0, items: [] };

/** The query of a view: a field with completion, and its terms as chips. */
export function QueryBox({ use, value, onChange, waitMs }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  /** The last query that was handed on. When the view catches up with it, the user may have typed more. */
  const asked = useRef(value);
  const [offered, setOffered] = useState(NONE);
  const [active, setActive] = useState(-1);
  const { terms, error } = useMemo(() => checkedQuery(text, use), [text, use]);
  const apply = (next: string): void => {
    asked.current = next;
    onChange(next);
  };
  useEffect(() => {
    if (text === asked.current || error !== undefined) return;
    const timer = setTimeout(() => apply(text), waitMs);
    return () => clearTimeout(timer);
  }, [text, error]);
  useEffect(() => {
    if (value === asked.current) return;
    asked.current = value;
    setText(value);
  }, [value]);

  const close = (): void => {
    setOffered(NONE);
    setActive(-1);
  };
  const offer = (next: string): void => {
    const cursor = input.current?.selectionStart ?? next.length;
    setOffered(complete(next, cursor, use, offersNow));
    setActive(-1);
  };
  const change = (next: string): void => {
    setText(next);
    close();
    if (checkedQuery(next, use).error === undefined) apply(next);
    input.current?.focus();
  };
  const take = ({ insert }: Completion): void => {
    // A field waits for its value; behind a value the next term begins.
    const isField = /[:>.]$/.test(insert);
    const behind = text.slice(offered.to);
    const space = isField || /^[\s,]/.test(behind) ? '' : ' ';
    const before = text.slice(0, offered.from) + insert + space;
    const next = before + behind;
    setText(next);
    putText(input.current, next, before.length);
    if (isField) offer(next);
    else close();
  };
  const press = (event: KeyboardEvent): void => {
    const { items } = offered;
    const isOpen = items.length > 0;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (!isOpen) {
        offer(text);
        return;
      }
      const by = event.key === 'ArrowDown' ? 1 : -1;
      // One position more than there are items: no item is chosen.
      const places = items.length + 1;
      setActive(((active + 1 + by + places) % places) - 1);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const chosen = items[active];
      if (chosen) take(chosen);
      else {
        close();
        if (error === undefined) apply(text);
      }
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      close();
    }
  };
  const name = use === 'bots' ? 'bots' : 'lines';
  return (
    <div class="query-box">
      <div class="search">
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          data-search
          role="combobox"
          aria-label={t('query.search', {
            what: t(use === 'bots' ? 'query.whatBots' : 'query.whatLines'),
          })}
          aria-autocomplete="list"
          aria-expanded={offered.items.length > 0}
          aria-controls={`offers-${name}`}
          aria-activedescendant={active < 0 ? undefined : offerId(`offers-${name}`, active)}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : `query-error-${name}`}
          placeholder={
            use === 'bots'
              ? 'status:failed label:team=a -kind:demo text'
              : 'level:warn scope:tcp "text" /regex/'
          }
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={MAX_QUERY}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            // An empty field offers its fields on request only: a click, or an arrow.
            if (currentTarget.value === '') close();
            else offer(currentTarget.value);
          }}
          onClick={() => offer(text)}
          onBlur={close}
          onKeyDown={press}
        />
        {text === '' ? null : (
          <CloseButton class="clear" name={t('query.clear')} onClick={() => change('')} />
        )}
        <Offers id={`offers-${name}`} items={offered.items} active={active} onTake={take} />
      </div>
      {error === undefined ? null : (
        <p class="query-error" id={`query-error-${name}`} role="status">
          {error}
        </p>
      )}
      {terms.length === 0 ? null : (
        <ul class="terms" aria-label={t('query.terms')}>
          {terms.map(({ term, place }) => {
            const printed = visible(printTerm(term));
            return (
              <li key={place.from}>
                <button
                  type="button"
                  class={term.isNot ? 'term is-not' : 'term'}
                  title={t('query.termHint')}
                  aria-label={t('query.remove', { term: printed })}
                  onClick={({ altKey }) =>
                    change(altKey ? inverted(text, place) : removed(text, place))
                  }
                >
                  <span>{printed}</span>
                  <Icon name="close" />
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
