// Counts looks for a text, and gives time only to them: slices are then a number of looks, on any machine.

import { vi } from 'vitest';

/** To be undone by vi.restoreAllMocks(). Each indexOf() of a text takes a millisecond. */
export function lookClock(): { most(): number } {
  const began = performance.now();
  let looks = 0;
  let inTurn = 0;
  let most = 0;
  const { indexOf } = String.prototype;
  vi.spyOn(performance, 'now').mockImplementation(() => began + looks);
  vi.spyOn(String.prototype, 'indexOf').mockImplementation(function (this: string, ...args) {
    // Of the queries of tests; others look for other texts.
    if (/^[b-e]$/.test(args[0])) {
      looks += 1;
      inTurn += 1;
      most = Math.max(most, inTurn);
    }
    return indexOf.apply(this, args);
  });
  const turn = (): void => {
    inTurn = 0;
    if (vi.isMockFunction(performance.now)) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    /** Looks within one turn of the event loop, at most, since the last call. */
    most() {
      const found = most;
      most = 0;
      return found;
    },
  };
}
