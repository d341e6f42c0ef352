// Used by every thread of the service. Owns the name of the work that this thread does, for the line about an event loop that was blocked
// (lag-watch.ts). Code that begins something says so: a clock is read for each message and request, not for each event.

/** A text, or an object that the thread can describe. */
export type Work = string | object;

let current: Work | undefined;
let since = 0;
let longest: Work | undefined;
let longestMs = 0;

/** Says that this work runs from now on. */
export function nowRuns(work: Work): void {
  settle();
  current = work;
}

/** The work that began last. */
export function running(): Work | undefined {
  return current;
}

/** The work that has taken longest since the last call, pauses included; undefined when nobody named it. */
export function takeLongest(): Work | undefined {
  settle();
  const found = longest;
  current = undefined;
  longest = undefined;
  longestMs = 0;
  return found;
}

function settle(): void {
  const now = performance.now();
  if (now - since > longestMs) {
    longestMs = now - since;
    longest = current;
  }
  since = now;
}
