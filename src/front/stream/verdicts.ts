/** Frames whose verdict is remembered: 16 KiB for each query. An older frame is judged once more. */
export const MAX_VERDICTS = 16_384;

const UNKNOWN = 0;
const NO = 1;
const YES = 2;

/** What a query has decided about the newest frames: its subscribers, which are at different cursors, share that. */
export class Verdicts {
  readonly #judge: (seq: number) => boolean;
  readonly #verdicts = new Uint8Array(MAX_VERDICTS);
  /** The frame after the newest one that was judged. */
  #end = 0;

  constructor(judge: (seq: number) => boolean) {
    this.#judge = judge;
  }

  of(seq: number): boolean {
    if (seq < this.#end - MAX_VERDICTS) return this.#judge(seq);
    if (seq >= this.#end) this.#moveTo(seq + 1);
    const place = seq % MAX_VERDICTS;
    const known = this.#verdicts[place];
    if (known !== UNKNOWN) return known === YES;
    const is = this.#judge(seq);
    this.#verdicts[place] = is ? YES : NO;
    return is;
  }

  /** Forgets the frames whose places newer ones take. */
  #moveTo(end: number): void {
    if (end - this.#end >= MAX_VERDICTS) this.#verdicts.fill(UNKNOWN);
    else for (let seq = this.#end; seq < end; seq++) this.#verdicts[seq % MAX_VERDICTS] = UNKNOWN;
    this.#end = end;
  }
}
