// Runs in tabs. Owns the herd's part of the address: `by`, how it is grouped; `show`, the statuses that are lit.

import { computed } from '@preact/signals';
import { changeQuery, route } from '../model/route.js';
import { type Grouping, groupingOf } from './grouping.js';

export interface HerdView {
  by: Grouping;
  /** The statuses that are lit; empty when all are. */
  lit: ReadonlySet<string>;
}

/** Statuses are percent-encoded in the address, because one can have any character. */
const listOf = (text: string | null): string[] =>
  (text ?? '').split(',').flatMap((part) => (part === '' ? [] : [decodeURIComponent(part)]));

export const herdView = computed<HerdView>(() => {
  const { query } = route.value;
  return {
    by: groupingOf(query.get('by')),
    lit: new Set(safely(() => listOf(query.get('show')), [])),
  };
});

export function groupBy(by: Grouping): void {
  changeQuery({ by: by === 'kind' ? '' : by });
}

export function setLit(statuses: Iterable<string>): void {
  changeQuery({ show: [...statuses].map(encodeURIComponent).join(',') });
}

/** Lights one status more, or one less. */
export function toggleLit(status: string): void {
  const next = new Set(herdView.peek().lit);
  if (!next.delete(status)) next.add(status);
  setLit(next);
}

/** A typed address may not decode. */
function safely<T>(task: () => T, otherwise: T): T {
  try {
    return task();
  } catch {
    return otherwise;
  }
}
