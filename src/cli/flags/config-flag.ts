import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { jsonObject } from './flag-values.js';

/** @throws CliError if the text is neither a JSON object nor `@` and the name of a file with one. */
export function objectOf(flag: string, text: string): JsonObject {
  try {
    const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text;
    return jsonObject(json) as JsonObject;
  } catch (thrown) {
    throw new CliError(EXIT.usage, `${flag} ${text}: ${messageOf(thrown)}`);
  }
}
