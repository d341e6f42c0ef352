import { expect, it } from 'vitest';
import { withOpen } from '../../../dashboard/src/model/open-incidents.js';

const incident = (at_ms: number, text = '') => ({ id: `i${at_ms}`, at_ms, text });
const ids = (incidents: { id: string }[]): string[] => incidents.map(({ id }) => id);

it('keeps an incident in the list while it is read', () => {
  const open = new Map([1, 2, 5].map((at) => [`i${at}`, incident(at, 'old')]));
  const shown = withOpen([incident(6), incident(5, 'repeated'), incident(4)], open);
  expect(ids(shown)).toEqual(['i6', 'i5', 'i4', 'i2', 'i1']);
  // As it is now.
  expect(shown[1]?.text).toBe('repeated');
  expect(ids(withOpen([incident(6)], new Map()))).toEqual(['i6']);
});
