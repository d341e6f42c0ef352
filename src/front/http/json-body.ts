import { pathOfInexact } from '../../shared/contract/exact-json.js';
import { explainSchemaError } from '../../shared/contract/explain.js';
import { isDeeper } from '../../shared/contract/json-depth.js';
import { DroverError } from '../../shared/errors.js';
import type { SchemaValue } from '../../shared/schemas.js';
import { type BodySchema, validatorOf } from '../../shared/validators.js';
import type { BodyRoom } from '../engine/body-room.js';
import type { Exchange } from '../engine/engine.js';
import { reached, requestRuns } from './running-request.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Limits of a body. */
export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
  /** Levels of nesting. */
  maxDepth: number;
  /** Shared by all bodies. */
  room: BodyRoom;
}

/** Reads and validates a body. To be called before the handler's first await. */
export type BodyReader<T> = (exchange: Exchange, limits: BodyLimits) => Promise<T>;

/**
 * A reader for bodies of this schema.
 * @throws DroverError (the reader) `unsupported_media_type`, `too_large`, `no_room`, `timeout`, `bad_request`.
 */
export function jsonBody<S extends BodySchema>(schema: S): BodyReader<SchemaValue<S>> {
  return async (exchange, limits) => {
    if (!isJson(exchange.header('content-type'))) throw new DroverError('unsupported_media_type');
    return withBytes(exchange, limits, async (bytes) => {
      const value = parse(bytes, 'the body', 'body', limits.maxDepth);
      const validate = validatorOf(schema);
      if (!validate(value)) {
        throw new DroverError('bad_request', explainSchemaError('body', validate.errors));
      }
      return value;
    });
  };
}

/** Reads the body, and calls `task` with it, during which it still counts in the room of all bodies. */
export async function withBytes<T>(
  exchange: Exchange,
  { maxBytes, timeoutMs, room }: BodyLimits,
  task: (bytes: Uint8Array) => Promise<T>,
): Promise<T> {
  if (Number(exchange.header('content-length')) > maxBytes) throw new DroverError('too_large');
  const share = room.open();
  const { slot } = exchange;
  slot?.receive();
  try {
    const bytes = await exchange.body(maxBytes, timeoutMs, share);
    slot?.received();
    requestRuns(exchange);
    reached('body');
    return await task(bytes);
  } finally {
    share.close();
  }
}

function isJson(contentType: string): boolean {
  // Decides most requests without parsing the header.
  if (contentType === 'application/json') return true;
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/json';
}

/** JSON as values that every thread can carry. @param what it is, and `root` of paths, for the error. @throws DroverError `bad_request`. */
export function parse(bytes: Uint8Array, what: string, root: string, maxDepth: number): unknown {
  const refuse = (why: string): never => {
    throw new DroverError('bad_request', `${what} is ${why}`);
  };
  if (isDeeper(bytes, maxDepth)) refuse(`nested more than ${maxDepth} levels deep`);
  let text = '';
  try {
    text = utf8.decode(bytes);
  } catch {
    refuse('not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of JSON.parse quotes the body, which may contain a PIN.
    refuse('not valid JSON');
  }
  const inexact = pathOfInexact(text, root, value);
  if (inexact !== undefined) throw new DroverError('bad_request', inexact);
  return value;
}
