// Progress output on standard error.

/** The progress output of a bench. */
export interface Progress {
  /** The current step; replaces the previous one if the terminal allows it. */
  step(text: string): void;
  /** A permanent message. */
  note(text: string): void;
  /** Ends the output. */
  done(): void;
}

const ERASE_LINE = '\r\x1b[K';

/** @param rewrites whether to use control sequences: on a terminal without NO_COLOR. */
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
