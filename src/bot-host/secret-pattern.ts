import { expressionOf, literalsOf } from './secret-spellings.js';

/** V8 does not compile longer expressions to machine code; they are a thousand times slower. */
const MAX_SOURCE_UNITS = 16_384;
/** Units of all expressions of a bot, which take time and memory. */
const MAX_SOURCES_UNITS = 262_144;

/** Finds secrets in a text, in all their spellings; those beyond the limits above in the usual ones. */
export class SecretPattern {
  /** The longest secret first, because it may contain another. */
  readonly #spellings: readonly (RegExp | string)[];

  constructor(secrets: readonly string[]) {
    let left = MAX_SOURCES_UNITS;
    this.#spellings = [...new Set(secrets)]
      .sort((one, other) => other.length - one.length)
      .flatMap((secret): (RegExp | string)[] => {
        const source = secret.length > MAX_SOURCE_UNITS / 16 ? '' : expressionOf(secret);
        if (source === '' || source.length > Math.min(left, MAX_SOURCE_UNITS))
          return literalsOf(secret);
        left -= source.length;
        return [new RegExp(source, 'g')];
      });
  }

  replace(text: string, replacement: (found: string, at: number, text: string) => string): string {
    let shown = text;
    for (const spelling of this.#spellings) shown = shown.replaceAll(spelling, replacement);
    return shown;
  }
}
