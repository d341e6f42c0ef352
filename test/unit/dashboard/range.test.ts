import { describe, expect, it } from 'vitest';
import {
  boundsOf,
  LIVE,
  rangeIn,
  rangeParameters,
  type TimeRange,
} from '../../../dashboard/src/range/range.js';

const AT = Date.parse('2026-11-24T14:02:00Z');

function inAddress(text: string): TimeRange {
  return rangeIn(new URLSearchParams(text));
}

describe('the time range of an address', () => {
  it.each<[string, TimeRange]>([
    ['', LIVE],
    ['from=-20m', { ...LIVE, from: { agoMs: 1_200_000 } }],
    ['from=-90s', { ...LIVE, from: { agoMs: 90_000 } }],
    ['from=2026-11-24T14:02:00Z', { ...LIVE, from: { ms: AT } }],
    ['to=2026-11-24T14:02:00Z', { ...LIVE, toMs: AT }],
    [
      'from=2026-11-24T14:01:00Z&to=2026-11-24T14:02:00Z&t=2026-11-24T14:01:30.250Z',
      { from: { ms: AT - 60_000 }, toMs: AT, momentMs: AT - 29_750 },
    ],
  ])('%j is read and written', (text, range) => {
    expect(inAddress(text)).toEqual(range);
    const written = Object.entries(rangeParameters(range)).filter(([, value]) => value !== '');
    expect(new URLSearchParams(written).toString()).toBe(new URLSearchParams(text).toString());
  });

  it('can be in milliseconds', () => {
    expect(inAddress(`from=${AT}`)).toEqual({ ...LIVE, from: { ms: AT } });
  });

  it.each([
    'from=yesterday',
    'to=2026-13-24T14:02:00Z',
    'from=-0m',
    'from=2026-11-24T14:02:00Z&to=2026-11-24T14:02:00Z',
    // A moment of a live range is now.
    't=2026-11-24T14:02:00Z',
  ])('is live where %j cannot be read', (text) => {
    expect(inAddress(text)).toEqual(LIVE);
  });

  it('leaves out a moment that is not in it', () => {
    const of = (t: string): number | undefined =>
      inAddress(`from=${AT}&to=${AT + 1000}&t=${t}`).momentMs;
    expect([AT - 1, AT, AT + 1000, AT + 1001].map((ms) => of(String(ms)))).toEqual([
      undefined,
      AT,
      AT + 1000,
      undefined,
    ]);
  });

  it('moves with the time while it is live', () => {
    expect(boundsOf(inAddress('from=-20m'), AT)).toEqual({
      fromMs: AT - 1_200_000,
      toMs: undefined,
    });
  });
});
