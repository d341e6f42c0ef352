import { visible } from '../../../src/shared/contract/escapes.js';
import { t } from '../texts/text.js';

export interface Offer {
  insert: string;
  label: string;
  hint: string;
}

interface OffersProps<T extends Offer> {
  /** Id of the list; its options have it with their index. The field refers to both. */
  id: string;
  items: readonly T[];
  /** Index of the chosen one; -1 for none. */
  active: number;
  onTake: (item: T) => void;
}

/** The completions of a combobox. The focus stays in its field, which has the keys. */
export function Offers<T extends Offer>({ id, items, active, onTake }: OffersProps<T>) {
  return (
    <div
      class="offers"
      id={id}
      role="listbox"
      aria-label={t('query.completions')}
      hidden={items.length === 0}
    >
      {items.map((item, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys, as a combobox does
        <div
          key={item.insert}
          id={offerId(id, at)}
          role="option"
          // The focus stays in the field.
          tabIndex={-1}
          aria-selected={at === active}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onTake(item)}
        >
          <code>{visible(item.label)}</code>
          <span class="muted">{visible(item.hint)}</span>
        </div>
      ))}
    </div>
  );
}

/** Puts a text and the cursor into a field, at once: the next key may come before the page is drawn. */
export function putText(field: HTMLInputElement | null, text: string, cursor: number): void {
  if (!field) return;
  field.value = text;
  field.focus();
  field.setSelectionRange(cursor, cursor);
}

export function offerId(list: string, at: number): string {
  return `${list}-${at}`;
}
