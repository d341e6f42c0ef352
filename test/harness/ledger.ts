// Test harness. Owns the record of one client: the numbers it received, those declared lost, and every duplicate, wrong
// order or undeclared loss.

/** A declared loss. */
export interface Gap {
  /** First and last lost number. */
  from: number;
  to: number;
  dropped: number | null;
}

export interface LedgerOptions {
  /** The stream has a filter: numbers may be missing, and the size of a loss is unknown. */
  filtered?: boolean;
  /** The stream of the cluster may be deleted: a gap then leads to another epoch. */
  deleted?: boolean;
  /** Called for each numbered frame except gaps. */
  onFrame?: (seq: number, block: string) => void;
}

const ID = /^(?:id|: position):? ([0-9a-f]+)-(\d+)$/;
const CLUSTER = 'event: cluster\ndata: ';
const MAX_FAULTS = 3;

/**
 * Reads the blocks of a stream and of the streams that resume it. `faults` stays empty while every number arrives once
 * and in order, or lies in one declared gap of the right size.
 */
export class Ledger {
  readonly faults: string[] = [];
  readonly gaps: Gap[] = [];
  frames = 0;
  /** Gaps that led to another epoch. */
  epochs = 0;
  /** Session frames that are no event: the snapshots at the start and after a gap. */
  snapshots = 0;
  comments = 0;
  /** States of the node in its cluster, from `cluster` frames, which have no id. */
  readonly cluster: string[] = [];
  retries = 0;
  epoch = '';
  /** The last number received or declared lost. Undefined until the stream has sent its position. */
  last: number | undefined;
  /** The position at which the first stream started. */
  first: number | undefined;
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions = {}) {
    this.#options = options;
  }

  /** The id that a client sends to resume. */
  get lastEventId(): string {
    return this.last === undefined ? '' : `${this.epoch}-${this.last}`;
  }

  /** Frames plus declared losses: must be `last - first` on a stream without a filter. */
  get accounted(): number {
    return this.gaps.reduce((sum, { dropped }) => sum + (dropped ?? 0), this.frames);
  }

  readonly take = (block: string): void => {
    const lineEnd = block.indexOf('\n');
    const first = lineEnd === -1 ? block : block.slice(0, lineEnd);
    const match = ID.exec(first);
    if (!match) this.#unnumbered(block, first);
    else this.#numbered(block, lineEnd, match[1] ?? '', Number(match[2]));
  };

  #unnumbered(block: string, first: string): void {
    if (block.startsWith('event: session\ndata: {')) this.snapshots += 1;
    else if (block.startsWith(CLUSTER))
      this.cluster.push((JSON.parse(block.slice(CLUSTER.length)) as { state: string }).state);
    else if (block === ':') this.comments += 1;
    else if (/^retry: \d+$/.test(first) && first === block) this.retries += 1;
    else this.#fault(`a block that is none of ours: ${block.slice(0, 200)}`);
  }

  #numbered(block: string, lineEnd: number, epoch: string, seq: number): void {
    if (epoch !== this.epoch && this.epoch !== '') {
      if (this.#options.deleted && isGap(block, lineEnd)) {
        this.#newEpoch(seq, epoch, block);
        return;
      }
      this.#fault(`epoch ${epoch} after ${this.epoch}`);
    }
    this.epoch ||= epoch;
    if (lineEnd === -1) {
      this.comments += 1;
      this.#position(seq);
    } else if (this.last === undefined && block.startsWith('event: session\n', lineEnd + 1)) {
      // The last of the snapshots has the position as its id.
      this.snapshots += 1;
      this.#position(seq);
    } else if (isGap(block, lineEnd)) this.#gap(seq, block);
    else this.#frame(seq, block);
  }

  /** How much was lost cannot be known. */
  #newEpoch(seq: number, epoch: string, block: string): void {
    const { from, to, dropped } = gapOf(block);
    if (to !== `${epoch}-${seq}` || dropped !== null || from !== this.lastEventId)
      this.#fault(`a gap from ${this.lastEventId} to ${epoch}-${seq}: ${block}`);
    this.epoch = epoch;
    this.last = seq;
    this.epochs += 1;
  }

  #position(seq: number): void {
    const { filtered = false } = this.#options;
    this.first ??= seq;
    this.last ??= seq;
    // With a filter, the stream may have skipped frames that do not match.
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
    const data = gapOf(block);
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
    // The gap of a replaced broadcaster counts itself and an unknown number of events that never got a number.
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

function isGap(block: string, lineEnd: number): boolean {
  return block.startsWith('event: gap\n', lineEnd + 1);
}

function gapOf(block: string): { from: string; to: string; dropped: number | null } {
  const match = /\ndata: (.*)$/.exec(block);
  return JSON.parse(match?.[1] ?? '{}') as { from: string; to: string; dropped: number | null };
}
