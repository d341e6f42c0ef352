import type { ValidateFunction } from 'ajv';
import { explainNamed } from '../shared/contract/explain.js';
import { unpackMessage } from '../shared/pipe/frames.js';
import { HostFault, objectOf, quoted, SHOWN_UNITS } from '../shared/pipe/host-fault.js';

/**
 * Checks one of the values that a schema has by name.
 * @param name one that the schema has. @throws HostFault, with what is wrong.
 */
export function checkNamed(validate: ValidateFunction, name: string, value: unknown): void {
  const why = explainNamed(validate, name, value);
  if (why !== null) throw new HostFault(why.slice(0, 4 * SHOWN_UNITS));
}

/** A message whose type is a text. @throws HostFault, SyntaxError for what is no JSON. */
export function typedMessage(bytes: Uint8Array): { type: string } {
  const message = unpackMessage(bytes);
  const { type } = objectOf(message, 'a message');
  if (typeof type !== 'string') throw new HostFault(`a message of the type ${quoted(type)}`);
  return message as { type: string };
}
