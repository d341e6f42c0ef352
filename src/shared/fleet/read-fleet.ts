// Pure, but for what `source` reads. From the text of a fleet file to the bots that it describes.

import type { CreateBotBody } from '../contract/bots.js';
import { schemaFaults } from '../contract/explain.js';
import type { FleetFile } from '../contract/fleet.js';
import { expandFleet } from './expand.js';
import { validateFleet } from './fleet-validator.js';
import { FleetFault, type Located, locate } from './located.js';
import type { ReferenceSource } from './references.js';

/** Bytes of a file, and of the request that its bots become. */
export const MAX_FLEET_BYTES = 16 * 1024 * 1024;

export interface Fleet {
  name: string;
  bots: CreateBotBody[];
  /** Where the entry of a bot is, as `file:line:column`; the file for a bot that it does not have. */
  placeOf(id: string): string;
}

/** @param file its name, for messages. @throws FleetFault */
export async function readFleet(
  text: string,
  file: string,
  source: ReferenceSource,
): Promise<Fleet> {
  if (Buffer.byteLength(text) > MAX_FLEET_BYTES) {
    throw new FleetFault([`${file}:1:1: the file has more than ${MAX_FLEET_BYTES} bytes`]);
  }
  const located = await locate(text, file);
  const { value, faults, placeOf } = located;
  if (value === null) faults.add(0, 'the file is empty: a fleet has name and bots');
  else if (!validateFleet(value)) addSchemaFaults(located);
  faults.check();
  const expanded = expandFleet(value as unknown as FleetFile, located, source);
  const offsets = new Map<string, number>();
  for (const { bot, offset } of expanded) {
    const first = offsets.get(bot.id);
    if (first === undefined) offsets.set(bot.id, offset);
    else faults.add(offset, `bot ${bot.id} is at ${placeOf(first)} already`);
  }
  faults.check();
  return {
    name: (value as unknown as FleetFile).name,
    bots: expanded.map(({ bot }) => bot),
    placeOf(id) {
      const offset = offsets.get(id);
      return offset === undefined ? file : placeOf(offset);
    },
  };
}

function addSchemaFaults({ faults, offsetOf, hintAt }: Located): void {
  for (const { text, path, key } of schemaFaults('', validateFleet.errors).faults) {
    const [, type] = /\bmust be .*\b(string|boolean)\b/.exec(text) ?? [];
    const hint = type && hintAt(path, type as 'string' | 'boolean');
    const what = text.replace(/^\./, '').replace(/^ /, 'the file ');
    faults.add(offsetOf(path, key), hint === undefined ? what : `${what}; ${hint}`);
  }
}
