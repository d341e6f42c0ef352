import { DroverError } from '../errors.js';
import { type BotField, botField, NAMED } from './bot-field.js';
import { FIELD_NAMES, FIELDS, nearest } from './fields.js';
import { MAX_PATH, MAX_PATH_PARTS } from './query-bounds.js';

const BOT_FIELDS = FIELD_NAMES.filter((name) => FIELDS[name].of !== 'line');
/** All fields, for error messages. */
const SHOWN = BOT_FIELDS.map((name) => (NAMED.has(name) ? `${name}.<name>` : name));

/** @param parameter is named in the error. @throws DroverError `bad_request`. */
export function readBotField(text: string, parameter: string): BotField {
  const field = botField(text);
  if (field) return field;
  const shown = JSON.stringify(text.slice(0, 60));
  const [start = ''] = text.split('.');
  if (NAMED.has(start)) {
    const example = start === 'data' ? 'data.gold' : 'label.team';
    throw new DroverError(
      'bad_request',
      `${parameter}: ${shown} needs a name of at most ${MAX_PATH} characters and ${MAX_PATH_PARTS} parts behind the dot, like ${example}`,
    );
  }
  const like = nearest(start, BOT_FIELDS);
  throw new DroverError(
    'bad_request',
    `${parameter}: there is no field ${shown}${like === undefined ? '' : `; did you mean ${like}?`}; there are: ${SHOWN.join(', ')}`,
  );
}
