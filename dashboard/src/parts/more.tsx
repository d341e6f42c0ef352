import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../texts/text.js';

/**
 * A long list inside a page: its first items, and a button for the next. One that scrolls is a second scrollbar.
 * @param step items that are shown at first, and how many more each time.
 */
export function useMore<T>(
  items: readonly T[],
  step: number,
): { shown: readonly T[]; more: VNode | null } {
  const [most, setMost] = useState(step);
  const more =
    items.length > most ? (
      <p class="show-more">
        <button type="button" onClick={() => setMost(most + step)}>
          {t('list.showMore', { n: Math.min(step, items.length - most) })}
        </button>
        <span class="muted">{t('count.of', { n: most, all: items.length })}</span>
      </p>
    ) : null;
  return { shown: items.slice(0, most), more };
}
