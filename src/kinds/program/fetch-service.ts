// Runs in a bot host. The request `fetch` of programs: as ctx.fetch of the SDK.

import { isUtf8 } from 'node:buffer';
import type { BotContext } from '../../bot-sdk/index.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { MAX_TIMER_MS } from '../../shared/contract/timers.js';
import { ERRORS, RequestError } from './json-rpc.js';
import { MAX_LINE_BYTES } from './line-reader.js';
import { badParams, object, optionalText, text } from './params.js';

const KEYS = ['url', 'method', 'headers', 'body', 'scope', 'timeout_ms'];

/** @throws RequestError for bad params, or as `fetch` fails. */
export async function fetchFor(ctx: BotContext, params: JsonObject): Promise<Json> {
  const url = text(params, 'url');
  if (!URL.canParse(url)) throw badParams(`url is no URL: ${JSON.stringify(url)}`);
  const unknown = Object.keys(params).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    throw badParams(`there is no param ${unknown}; there are ${KEYS.join(', ')}`);
  }
  const body = optionalText(params, 'body');
  const scope = optionalText(params, 'scope');
  const timeoutMs = params['timeout_ms'];
  const options = {
    method: optionalText(params, 'method') ?? 'GET',
    headers: headersOf(params),
    ...(body === undefined ? {} : { body }),
    ...(scope === undefined ? {} : { scope }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: msOf(timeoutMs) }),
  };
  const response = await ctx.fetch(url, options);
  const bytes = await bodyOf(response);
  const isText = isUtf8(bytes);
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: bytes.toString(isText ? 'utf8' : 'base64'),
    ...(isText ? {} : { base64: true }),
  };
}

function headersOf(params: JsonObject): Record<string, string> {
  if (params['headers'] === undefined || params['headers'] === null) return {};
  const headers = object(params, 'headers');
  return Object.fromEntries(Object.keys(headers).map((name) => [name, text(headers, name)]));
}

function msOf(value: Json): number {
  if (typeof value === 'number' && value >= 0 && value <= MAX_TIMER_MS) return Math.round(value);
  throw badParams(`timeout_ms must be a number from 0 to ${MAX_TIMER_MS}`);
}

/** At most a line: what is longer is not read. */
async function bodyOf(response: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > MAX_LINE_BYTES) {
      throw new RequestError(ERRORS.failed, `the body is longer than ${MAX_LINE_BYTES} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
