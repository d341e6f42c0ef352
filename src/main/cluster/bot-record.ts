// In main. How a node reads the record of a bot that another has written, perhaps one of another version. Pure.

import { READABLE } from '../../shared/cluster/names.js';
import type { BotSpec } from '../../shared/contract/bots.js';
import { messageOf } from '../../shared/errors.js';
import type { BotRecord } from './parts.js';

const STATES: readonly unknown[] = ['placing', 'placed', 'leaving', 'free'];
const FAILOVERS: readonly unknown[] = ['restart', 'stay', 'bound'];

/**
 * Fields that it does not know are part of the result: a node that changes the record writes them again.
 * @param bot the id that the record's key names. @throws Error that says why it cannot be read
 */
export function readBotRecord(bot: string, bytes: Uint8Array): BotRecord {
  const record = parse(bytes);
  const { v, spec, node, term, state, failover, sealed } = record;
  if (!Number.isInteger(v)) throw new Error('it has no version');
  if ((v as number) > READABLE) {
    throw new Error(`it has version ${v}, this node knows ${READABLE}: update this node`);
  }
  if (!isSpec(spec) || spec.id !== bot) throw new Error('it is not of this bot');
  if (typeof node !== 'string' || !Number.isInteger(term)) throw new Error('it names no node');
  if (!STATES.includes(state)) throw new Error(`its state is ${JSON.stringify(state)}`);
  if (!FAILOVERS.includes(failover)) throw new Error(`its failover is ${JSON.stringify(failover)}`);
  if (sealed !== null && typeof sealed !== 'string') throw new Error('its secrets are no text');
  return record as unknown as BotRecord;
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch (thrown) {
    throw new Error(`it is not JSON: ${messageOf(thrown)}`);
  }
  if (!isObject(value)) throw new Error('it is no object');
  return value;
}

function isSpec(value: unknown): value is BotSpec {
  return (
    isObject(value) &&
    typeof value['kind'] === 'string' &&
    isObject(value['config']) &&
    isObject(value['labels'])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
