import { expressionOf, literalsOf } from './secret-spellings.js';
import { SecretStarts } from './secret-starts.js';

/** V8 does not compile longer expressions to machine code; they are a thousand times slower. */
const MAX_SOURCE_UNITS = 16_384;
/** Units of all expressions of a bot, which take time and memory. */
const MAX_SOURCES_UNITS = 262_144;
/**
 * Units of expressions times characters of a text: each takes some nanoseconds for a text that is made for it, and hardly any time for
 * others. When they are more, secrets are first looked for by {@link SecretStarts}, if the expressions have taken so many ms.
 */
const MAX_STEPS = 2 ** 27;
const MAX_MS = 20;

/** A backslash may be there four times, and each time be spelled in four ways. */
const UNITS_OF_BACKSLASH = 128;

type Replacement = (found: string, at: number, text: string) => string;

/** A secret in all its spellings. */
interface Expression {
  /** Its place in {@link SecretPattern}'s list for {@link SecretStarts}. */
  number: number;
  source: string;
  regex: RegExp;
  /** Units of its source, with runs of backslashes written out. */
  units: number;
}

/** Finds secrets in a text, in all their spellings; those beyond the limits above in the usual ones. */
export class SecretPattern {
  /** The longest secret first, because it may contain another. */
  readonly #spellings: readonly (Expression | string)[];
  /** Secrets of which there is an expression. */
  readonly #expressed: string[] = [];
  #starts: SecretStarts | undefined;
  /** Units of all expressions. */
  readonly #units: number;
  readonly #maxSteps: number;

  constructor(secrets: readonly string[], maxSteps = MAX_STEPS) {
    this.#maxSteps = maxSteps;
    let left = MAX_SOURCES_UNITS;
    this.#spellings = [...new Set(secrets)]
      .sort((one, other) => other.length - one.length)
      .flatMap((secret): (Expression | string)[] => {
        const source = secret.length > MAX_SOURCE_UNITS / 16 ? '' : expressionOf(secret);
        if (source === '' || source.length > Math.min(left, MAX_SOURCE_UNITS))
          return [...new Set(literalsOf(secret))];
        left -= source.length;
        const number = this.#expressed.push(secret) - 1;
        const units = source.length + UNITS_OF_BACKSLASH * (secret.split('\\').length - 1);
        return [{ number, source, regex: new RegExp(source, 'g'), units }];
      });
    this.#units = this.#spellings.reduce(
      (sum, one) => sum + (typeof one === 'string' ? 0 : one.units),
      0,
    );
  }

  replace(text: string, replacement: Replacement): string {
    let shown = text;
    const end = this.#units * text.length > this.#maxSteps ? performance.now() + MAX_MS : 0;
    let places: SecretFinder | undefined;
    for (const spelling of this.#spellings) {
      if (typeof spelling === 'string') {
        const before = shown;
        shown = shown.replaceAll(spelling, replacement);
        // The places are those in the text that was searched.
        if (shown !== before) places = undefined;
      } else if (end === 0 || (!places && this.#isQuick(spelling, shown, end))) {
        shown = shown.replaceAll(spelling.regex, replacement);
      } else {
        this.#starts ??= new SecretStarts(this.#expressed);
        places ??= new SecretFinder(this.#starts.in(shown));
        shown = places.replace(shown, spelling, replacement);
      }
    }
    return shown;
  }

  #isQuick({ units }: Expression, text: string, end: number): boolean {
    return units * text.length <= this.#maxSteps && performance.now() < end;
  }
}

/** Where secrets may start in a text that changes. */
class SecretFinder {
  readonly #starts: Map<number, number[]>;

  constructor(starts: Map<number, number[]>) {
    this.#starts = starts;
  }

  replace(text: string, { number, source }: Expression, replacement: Replacement): string {
    const starts = this.#starts.get(number);
    if (!starts) return text;
    const regex = new RegExp(source, 'y');
    let shown = '';
    let end = 0;
    const edits: { from: number; to: number; by: number }[] = [];
    for (const start of starts) {
      if (start < end) continue;
      regex.lastIndex = start;
      const found = regex.exec(text)?.[0];
      if (found === undefined) continue;
      const shownAs = replacement(found, start, text);
      shown += text.slice(end, start) + shownAs;
      end = start + found.length;
      if (shownAs !== found)
        edits.push({ from: start, to: end, by: shownAs.length - found.length });
    }
    if (edits.length > 0) this.#move(edits);
    return shown + text.slice(end);
  }

  /** Removes places in pieces that were replaced, and moves those behind them. */
  #move(edits: readonly { from: number; to: number; by: number }[]): void {
    for (const [number, starts] of this.#starts) {
      let at = 0;
      let by = 0;
      const moved = starts.flatMap((start) => {
        for (; at < edits.length && (edits[at] as { to: number }).to <= start; at++)
          by += (edits[at] as { by: number }).by;
        return at < edits.length && start >= (edits[at] as { from: number }).from
          ? []
          : [start + by];
      });
      this.#starts.set(number, moved);
    }
  }
}
