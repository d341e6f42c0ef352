// Test harness. Owns the bookkeeping of one client: which numbers it has had, which were declared lost, and whether
// anything came twice, out of order, or not at all.

/** A declared loss. */
export interface Gap {
  /** First and last lost number. */
  from: number;
  to: number;
  dropped: number | null;
}

export interface LedgerOptions {
  /** The stream has a filter: numbers may be left out, and the size of a loss is not known. */
  filtered?: boolean;
  /** Called for each numbered frame that is no gap. */
  onFrame?: (seq: number, block: string) => void;
}

const ID = /^id: ([0-9a-f]+)-(\d+)$/;
const MAX_FAULTS = 3;

/**
 * Takes the blocks of a stream, and those of the streams that resume it. `faults` is empty as long as every number has
 * come once and in order, or lies in one declared gap whose size is right.
 */
export class Ledger {
  readonly faults: string[] = [];
  readonly gaps: Gap[] = [];
  frames = 0;
  /** Session frames without a number. */
  snapshots = 0;
  comments = 0;
  retries = 0;
  epoch = '';
  /** The last number that has come or was declared lost; undefined before the stream has said where it stands. */
  last: number | undefined;
  /** Where the first stream stood at its beginning. */
  first: number | undefined;
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions = {}) {
    this.#options = options;
  }

  /** The id that a client sends to resume. */
  get lastEventId(): string {
    return this.last === undefined ? '' : `${this.epoch}-${this.last}`;
  }

  /** Frames and declared losses together: must be `last - first` on a stream without a filter. */
  get accounted(): number {
    return this.gaps.reduce((sum, { dropped }) => sum + (dropped ?? 0), this.frames);
  }

  readonly take = (block: string): void => {
    if (block.startsWith(':\n')) {
      // A heartbeat that also says where the stream stands.
      this.comments += 1;
      this.take(block.slice(2));
      return;
    }
    const lineEnd = block.indexOf('\n');
    const first = lineEnd === -1 ? block : block.slice(0, lineEnd);
    const match = ID.exec(first);
    if (!match) this.#unnumbered(block, first);
    else this.#numbered(block, lineEnd, match[1] ?? '', Number(match[2]));
  };

  #unnumbered(block: string, first: string): void {
    if (block.startsWith('event: session\ndata: {')) this.snapshots += 1;
    else if (block === ':') this.comments += 1;
    else if (/^retry: \d+$/.test(first) && first === block) this.retries += 1;
    else this.#fault(`a block that is none of ours: ${block.slice(0, 200)}`);
  }

  #numbered(block: string, lineEnd: number, epoch: string, seq: number): void {
    if (this.epoch === '') this.epoch = epoch;
    else if (epoch !== this.epoch) this.#fault(`epoch ${epoch} after ${this.epoch}`);
    if (lineEnd === -1) this.#position(seq);
    else if (block.startsWith('event: gap\n', lineEnd + 1)) this.#gap(seq, block);
    else this.#frame(seq, block);
  }

  #position(seq: number): void {
    const { filtered = false } = this.#options;
    this.first ??= seq;
    this.last ??= seq;
    // With a filter the stream may have passed over what it does not let through.
    if (filtered ? seq < this.last : seq !== this.last) {
      this.#fault(`the position is ${seq} after ${this.last}`);
    }
    this.last = seq;
  }

  #frame(seq: number, block: string): void {
    const { filtered = false, onFrame } = this.#options;
    const last = this.last;
    if (last === undefined) this.#fault(`${seq} before the stream has said where it stands`);
    else if (filtered ? seq <= last : seq !== last + 1) this.#fault(`${seq} after ${last}`);
    this.last = seq;
    this.frames += 1;
    onFrame?.(seq, block);
  }

  #gap(seq: number, block: string): void {
    const { filtered = false } = this.#options;
    const match = /\ndata: (.*)$/.exec(block);
    const data = JSON.parse(match?.[1] ?? '{}') as { from: string; to: string; dropped: number };
    const gap: Gap = {
      from: Number(data.from.split('-')[1]),
      to: Number(data.to.split('-')[1]),
      dropped: data.dropped,
    };
    const said = JSON.stringify(data);
    const last = this.last ?? 0;
    if (gap.to !== seq) this.#fault(`gap ${seq} ends elsewhere: ${said}`);
    if (filtered ? gap.from <= last : gap.from !== last + 1) {
      this.#fault(`a gap after ${last}: ${said}`);
    }
    if (gap.to < gap.from) this.#fault(`a gap of nothing: ${said}`);
    // A replaced broadcaster's gap stands for itself and for an unknown number of events that never had a number.
    const ofBroadcaster = gap.from === gap.to && gap.dropped === null;
    if (!filtered && !ofBroadcaster && gap.dropped !== gap.to - gap.from + 1) {
      this.#fault(`a gap with the wrong count: ${said}`);
    }
    if (filtered && gap.dropped !== null) this.#fault(`a count that cannot be known: ${said}`);
    this.gaps.push(gap);
    this.last = seq;
  }

  #fault(what: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(what);
  }
}
