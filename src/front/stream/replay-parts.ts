import type { ReplayPart } from '../../shared/contract/journal-messages.js';

/** Bytes of all parts: those that are being sent, and those that the crowd behind them will need. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Size of memory that is worth reusing, and how many pieces of it are kept. */
const SPARE_BYTES = 256 * 1024;
const MAX_SPARE = 16;

/** Parts of the journal, the least recently used first, and memory to reuse: fresh memory is expensive to free. */
export class ReplayParts {
  readonly #parts = new Map<string, ReplayPart>();
  /**
   * Parts that the streams which waited for them have not looked at yet. They are not evicted: with very many streams
   * others would evict them before that, and no stream would make progress.
   */
  readonly #unseen = new Set<string>();
  #bytes = 0;
  /** The last view of a part. */
  #last: { part: ReplayPart; from: number; end: number; bytes: Uint8Array } | undefined;
  #spare: ArrayBuffer[] = [];

  /** How many parts wait for a stream to look at them. */
  get unseen(): number {
    return this.#unseen.size;
  }

  has(key: string): boolean {
    return this.#parts.has(key);
  }

  get(key: string): ReplayPart | undefined {
    return this.#parts.get(key);
  }

  /** Gets the part and makes it the most recently used. */
  take(key: string): ReplayPart | undefined {
    const part = this.#parts.get(key);
    if (!part) return undefined;
    this.#parts.delete(key);
    this.#parts.set(key, part);
    return part;
  }

  /** A stream will look at this part. */
  expect(key: string): void {
    this.#unseen.add(key);
  }

  /** A stream looks at this part. @returns whether it is the first. */
  see(key: string): boolean {
    return this.#unseen.delete(key);
  }

  /** Adds a part, and evicts old ones beyond {@link MAX_BYTES}. */
  keep(key: string, part: ReplayPart): void {
    this.#parts.set(key, part);
    this.#bytes += part.bytes.length;
    for (const [oldest, { bytes }] of this.#parts) {
      if (this.#bytes <= MAX_BYTES || oldest === key) break;
      if (this.#unseen.has(oldest)) continue;
      this.#parts.delete(oldest);
      this.#bytes -= bytes.length;
      this.#reuse(bytes.buffer as ArrayBuffer);
    }
  }

  /** Bytes of a part. Streams in step get the same array, which the engine may share between them. */
  view(part: ReplayPart, from: number, end: number): Uint8Array {
    const last = this.#last;
    if (last?.part === part && last.from === from && last.end === end) return last.bytes;
    const bytes = part.bytes.subarray(from, end);
    this.#last = { part, from, end, bytes };
    return bytes;
  }

  /** Memory of an evicted part, if there is any. */
  takeMemory(): ArrayBuffer | undefined {
    return this.#spare.pop();
  }

  clear(): void {
    this.#parts.clear();
    this.#unseen.clear();
    this.#spare = [];
    this.#last = undefined;
    this.#bytes = 0;
  }

  #reuse(memory: ArrayBuffer): void {
    const isWorthIt = memory.byteLength >= SPARE_BYTES && this.#spare.length < MAX_SPARE;
    if (isWorthIt) this.#spare.push(memory);
  }
}
