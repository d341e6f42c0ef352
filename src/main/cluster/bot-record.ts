// In main. How a node reads the record of a bot that another has written, perhaps one of another version. Pure.

import { parseJson } from '../../cluster/wire/bus-validators.js';
import { checkRecord } from './bucket.js';
import type { BotRecord } from './parts.js';

/**
 * Fields that it does not know are part of the result: a node that changes the record writes them again.
 * @param bot the id that the record's key names. @throws Error that says why it cannot be read
 */
export function readBotRecord(bot: string, text: string): BotRecord {
  const record = checkRecord<BotRecord>('bot', parseJson(text));
  if (record.spec.id !== bot) throw new Error('it is not of this bot');
  return record;
}
