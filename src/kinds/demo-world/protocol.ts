// The line protocol of the demo world:
//
//   NAME key=value key="quoted value"
//
// One message per line, UTF-8, ended by LF (a CR before it is tolerated). A bare value is printable ASCII without
// spaces, quotes and backslashes; every other value is a JSON string.

export interface WorldMessage {
  name: string;
  attributes: Record<string, string>;
}

/** Longest line in bytes, without its ending. A client that sends a longer one is disconnected. */
export const MAX_LINE_BYTES = 4096;

const NAME = /^[A-Z][A-Za-z]{0,31}$/;
const KEY = /^[a-z][a-z0-9_]{0,31}$/;
const BARE_VALUE = /^[!#-[\]-~]+$/;

const NAME_PART = /[A-Z][A-Za-z]{0,31}(?= |$)/y;
const ATTRIBUTE_PART =
  / +(?<key>[a-z][a-z0-9_]{0,31})=(?:(?<quoted>"[^"\\]*(?:\\.[^"\\]*)*")|(?<bare>[!#-[\]-~]+))(?= |$)/y;

/** Characters that JSON does not escape, but that a terminal or an editor takes for a command or a line break. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029]/g;

/** Attributes that are hidden in logs. */
const SECRET = /^(?:ticket|password|token|secret)$/i;

function quote(value: string): string {
  return JSON.stringify(value).replace(
    UNPRINTABLE,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The line of a message, without its ending.
 * @throws Error when the name or a key is invalid, or the line would be longer than {@link MAX_LINE_BYTES}.
 */
export function encode(message: WorldMessage): string {
  // Checked because a name or key with a space or line break in it would become another message.
  if (!NAME.test(message.name)) throw new Error(`bad message name ${quote(message.name)}`);
  let line = message.name;
  for (const [key, value] of Object.entries(message.attributes)) {
    if (!KEY.test(key)) throw new Error(`bad attribute key ${quote(key)}`);
    line += ` ${key}=${BARE_VALUE.test(value) ? value : quote(value)}`;
  }
  if (Buffer.byteLength(line) > MAX_LINE_BYTES) {
    throw new Error(`${message.name} is longer than ${MAX_LINE_BYTES} bytes`);
  }
  return line;
}

/**
 * The message of a line without its ending.
 * @throws Error that names the fault and its column; never repeats the line, which may hold a secret.
 */
export function parse(line: string): WorldMessage {
  NAME_PART.lastIndex = 0;
  const name = NAME_PART.exec(line)?.[0];
  if (name === undefined) throw new Error('the line does not begin with a message name');

  const attributes: Record<string, string> = {};
  let at = name.length;
  while (at < line.length) {
    ATTRIBUTE_PART.lastIndex = at;
    const groups = ATTRIBUTE_PART.exec(line)?.groups;
    const key = groups?.key;
    if (key === undefined) throw new Error(`no key=value at column ${at + 1}`);
    if (Object.hasOwn(attributes, key)) throw new Error(`${key} is given twice`);
    attributes[key] = groups?.bare ?? unquote(groups?.quoted ?? '', key);
    at = ATTRIBUTE_PART.lastIndex;
  }
  return { name, attributes };
}

function unquote(quoted: string, key: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new Error(`the value of ${key} is not a JSON string`);
  }
}

/** The display line of a message for logs (docs/INTERFACE.md §6.5), without secrets. */
export function describe(message: WorldMessage): string {
  const attributes = Object.entries(message.attributes).map(
    ([key, value]) => `${key}=${SECRET.test(key) ? '"***"' : quote(value)}`,
  );
  return attributes.length === 0 ? message.name : `${message.name}{${attributes.join(', ')}}`;
}
