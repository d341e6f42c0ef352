// Runs in the bench process. Owns standard error while a bench runs: which round, which contender, and what to know.

/** Where a bench says what it is doing. */
export interface Progress {
  /** What it does now; replaces the last step where the terminal can do that. */
  step(text: string): void;
  /** Something that stays to be read. */
  note(text: string): void;
  /** No more steps. */
  done(): void;
}

const ERASE_LINE = '\r\x1b[K';

/** @param rewrites whether control sequences may be sent: a terminal, and NO_COLOR not set. */
export function createProgress(out: NodeJS.WritableStream, rewrites: boolean): Progress {
  return {
    step: (text) => {
      out.write(rewrites ? `${ERASE_LINE}${text}` : `${text}\n`);
    },
    note: (text) => {
      out.write(rewrites ? `${ERASE_LINE}${text}\n` : `${text}\n`);
    },
    done: () => {
      if (rewrites) out.write(ERASE_LINE);
    },
  };
}
