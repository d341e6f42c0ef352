/** The event loop of a thread was blocked: one of its turns took long. */
export interface SlowTurn {
  /** At most, in ms, without the time in which the thread waited for a processor. */
  forMs: number;
  /** How much of that the thread has run, in ms; null where that is not known. */
  ranMs: number | null;
  /** The work that took longest in the turn; null when that is not known. */
  what: string | null;
}

/** Reports of a thread of the service to main about its event loop. */
export type LoopEvents = {
  /** Called when the loop was blocked and turns again. */
  slow(input: SlowTurn): void;
};

/** A drill: blocks an event loop for so long, in ms; null for ever. */
export interface Block {
  forMs: number | null;
}

/** A drill in a front: blocks in the next request that needs a token, or once the next body has arrived. */
export interface FrontBlock extends Block {
  at: 'request' | 'body';
}
