import { setImmediate as nextTurn } from 'node:timers/promises';
import { explainSchemaError } from '../../shared/contract/explain.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { SchemaValue } from '../../shared/schemas.js';
import { type BodySchema, validatorOf } from '../../shared/validators.js';
import { type BodyReader, parse, withBytes } from './json-body.js';

const LINE_FEED = 10;
/** Longest slice in which lines are read, in ms: other requests come between two. */
const SLICE_MS = 5;

/** A body with a value on each line. */
export interface Lines<T> {
  values: T[];
  /** The number of the line of each value, from 1. */
  numbers: number[];
  /** What is wrong with the other lines. */
  faults: [line: number, fault: string][];
}

/** Whether the body of a request is lines. */
export function isNdjson(contentType: string): boolean {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-ndjson';
}

/**
 * A reader for bodies with a value of this schema on each line. Empty lines are skipped. @param most lines.
 * @throws DroverError (the reader) like {@link jsonBody}; not for a line that is wrong.
 */
export function ndjsonBody<S extends BodySchema>(
  schema: S,
  { most, maxBytes }: { most: number; maxBytes: number },
): BodyReader<Lines<SchemaValue<S>>> {
  const validate = validatorOf(schema);
  return (exchange, limits) =>
    withBytes(exchange, { ...limits, maxBytes }, async (bytes) => {
      const lines: Lines<SchemaValue<S>> = { values: [], numbers: [], faults: [] };
      let end = performance.now() + SLICE_MS;
      let number = 0;
      for (const line of linesOf(bytes)) {
        number += 1;
        if (line.every(isSpace)) continue;
        if (lines.values.length + lines.faults.length === most) {
          throw new DroverError('too_large', `the body has more than ${most} lines`);
        }
        try {
          const value = parse(line, 'the line', '', limits.maxDepth);
          if (validate(value)) {
            lines.values.push(value);
            lines.numbers.push(number);
          } else lines.faults.push([number, explainSchemaError('', validate.errors).trim()]);
        } catch (thrown) {
          lines.faults.push([number, messageOf(thrown).replace(/^\./, '')]);
        }
        if (performance.now() < end) continue;
        await nextTurn();
        end = performance.now() + SLICE_MS;
      }
      if (lines.values.length + lines.faults.length === 0) {
        throw new DroverError('bad_request', 'the body has no lines');
      }
      return lines;
    });
}

function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, from);
    const to = found === -1 ? bytes.length : found;
    yield bytes.subarray(from, to);
    from = to + 1;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}
