/** The meaning of a status, shown by colour and shape. */
export type Tone = 'good' | 'busy' | 'off' | 'wait' | 'bad';

const TONES: Readonly<Record<string, Tone>> = {
  stopped: 'off',
  deleted: 'off',
  starting: 'busy',
  stopping: 'busy',
  backoff: 'wait',
  failed: 'bad',
  // In a cluster, of bots and of nodes.
  moved: 'off',
  lost: 'bad',
  cordoned: 'wait',
  draining: 'busy',
  // Statuses that bots themselves report before they are ready.
  authenticating: 'busy',
  connecting: 'busy',
  tutorial: 'busy',
};

/** A running bot can report any status, so an unknown one counts as good. */
export function toneOf(status: string): Tone {
  return Object.hasOwn(TONES, status) ? (TONES[status] as Tone) : 'good';
}

/** The error that a status is about; null for that of a bot that runs again, which is over. */
export function currentError(status: string, lastError: string | null): string | null {
  const tone = toneOf(status);
  return tone === 'bad' || tone === 'wait' ? lastError : null;
}

/** On a grid of 16 x 16. */
export const SHAPES: Record<Tone, string> = {
  good: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z',
  busy: 'M8 3a5 5 0 1 1 0 10zM8 3a5 5 0 0 0 0 10',
  off: 'M4 4h8v8H4z',
  wait: 'M4 3h8L8 8l4 5H4l4-5z',
  bad: 'M8 2.5l6 11H2z',
};
