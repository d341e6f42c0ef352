import { withoutEscapes } from '../contract/escapes.js';
import { KINDS, LEVELS } from '../contract/event-kinds.js';
import type { ActivityEvent, BotSnapshot } from '../contract/events.js';
import type { NodeNaming } from '../memory/node-names.js';
import type { RingReader } from '../memory/ring-reader.js';
import { NO_FIELDS, type QueriedLine } from '../query/line-query.js';
import { lowerCase } from '../query/lower-case.js';
import { frameData, frameField, frameMessage, KIND_CODE, sessionJson } from './frame.js';
import type { KnownNames } from './known-names.js';

/** The index fields of frames. */
export type IndexedFrames = Pick<
  RingReader,
  'kind' | 'level' | 'sessionLow' | 'sessionHigh' | 'scopeLow' | 'scopeHigh' | 'node' | 'text'
>;

/** Frames with some that stand for all: for each name, and for none, one of each kind of event that has it. */
export interface SampledFrames extends IndexedFrames {
  readonly scopeFrames: readonly number[];
  readonly sessionFrames: readonly number[];
}

/** A frame as queries see it. Reads no more of it than they ask for. */
export class FrameLine implements QueriedLine {
  readonly #frames: IndexedFrames;
  readonly #seq: number;
  readonly #nodeNames: NodeNaming | undefined;
  readonly #names: KnownNames;
  #frame: string | undefined;
  #said: string | undefined;
  #lower: string | undefined;
  #parsed: ActivityEvent | undefined;

  constructor(
    frames: IndexedFrames,
    seq: number,
    nodeNames: NodeNaming | undefined,
    names: KnownNames,
  ) {
    this.#frames = frames;
    this.#seq = seq;
    this.#nodeNames = nodeNames;
    this.#names = names;
  }

  get event(): QueriedLine['event'] {
    return KINDS[this.#frames.kind(this.#seq)] ?? 'log';
  }

  get level(): string | null {
    return LEVELS[this.#frames.level(this.#seq)] ?? null;
  }

  get node(): string | null {
    return this.#nodeNames?.name(this.#frames.node(this.#seq)) ?? null;
  }

  get scope(): string | null {
    if (!this.#isLine) return null;
    const low = this.#frames.scopeLow(this.#seq);
    const high = this.#frames.scopeHigh(this.#seq);
    return this.#names.of(low, high, () => frameField(this.#text, 'scope'));
  }

  get bot(): string | null {
    if (this.#frames.sessionLow(this.#seq) === 0) return null;
    const low = this.#frames.sessionLow(this.#seq);
    const high = this.#frames.sessionHigh(this.#seq);
    return this.#names.of(low, high, () => this.#readBot());
  }

  get transport(): string | null {
    return this.#isLine ? frameField(this.#text, 'transport') : null;
  }

  get direction(): string | null {
    return this.#isLine ? frameField(this.#text, 'direction') : null;
  }

  get actor(): string | null {
    return this.#activity?.actor ?? null;
  }

  get activity(): string | null {
    return this.#activity?.activity ?? null;
  }

  get #activity(): ActivityEvent | null {
    if (this.event !== 'activity') return null;
    this.#parsed ??= JSON.parse(frameData(this.#text)) as ActivityEvent;
    return this.#parsed;
  }

  get text(): string {
    this.#said ??= this.#read();
    return this.#said;
  }

  get lowerText(): string {
    this.#lower ??= lowerCase(this.text);
    return this.#lower;
  }

  /** Whether it is this frame. */
  is(frames: IndexedFrames, seq: number, nodeNames: NodeNaming | undefined): boolean {
    return this.#frames === frames && this.#seq === seq && this.#nodeNames === nodeNames;
  }

  #read(): string {
    if (!this.#isLine) return frameData(this.#text);
    const message = frameMessage(this.#text);
    if (!message.includes('\\') && !message.includes('\u009b')) return message;
    return withoutEscapes(JSON.parse(`"${message}"`) as string);
  }

  get #isLine(): boolean {
    return this.#frames.kind(this.#seq) === KIND_CODE.log;
  }

  get #text(): string {
    this.#frame ??= this.#frames.text(this.#seq);
    return this.#frame;
  }

  #readBot(): string | null {
    if (this.#isLine) return frameField(this.#text, 'session_id');
    if (this.event === 'activity') return this.#activity?.session_id ?? null;
    return (JSON.parse(frameData(this.#text)) as { snapshot: BotSnapshot }).snapshot.id;
  }
}

/** A snapshot at the start of a stream, as queries see it. */
export function snapshotLine(snapshot: BotSnapshot): QueriedLine {
  return {
    ...NO_FIELDS,
    event: 'session',
    bot: snapshot.id,
    node: snapshot.node ?? null,
    get text() {
      return sessionJson(snapshot);
    },
  };
}
