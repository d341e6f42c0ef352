// Runs in the worker of a run. Reads lines of a file as bytes, with the offset of each, a part of the file at a time.

/** A longer line is not read, in bytes: events are far shorter, and it would have to be in memory as a whole. */
export const MAX_LINE = 4 * 1024 * 1024;

/** Read at once, in bytes: the stream of a file comes in small parts, each of which costs a turn of the loop. */
const BLOCK = 1024 * 1024;

export interface FileLine {
  /** Of its first byte in the file. */
  at: number;
  /** In bytes, without the end of the line. */
  size: number;
  /** Undefined when it is longer than {@link MAX_LINE}. */
  text: string | undefined;
  /** What is read with it is ASCII. */
  isAscii: boolean;
  /** The file ends with it, without an end of the line: it may have been cut off. */
  isCut: boolean;
}

const NEWLINE = 10;
const RETURN = 13;

/** Yields the lines of the bytes from `from` to `to`, many at once. */
export async function* fileLines(file: Blob, from = 0, to = file.size): AsyncGenerator<FileLine[]> {
  const decoder = new TextDecoder();
  /** The unfinished line: its parts, or only its size when it is too long. */
  let parts: Uint8Array[] = [];
  let size = 0;
  let at = from;
  const take = (last: Uint8Array, isCut: boolean): FileLine => {
    const whole = size + last.length;
    let text: string | undefined;
    if (whole <= MAX_LINE) {
      const bytes = parts.length === 0 ? last : joined([...parts, last], whole);
      text = decoder.decode(bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes);
    }
    const line = { at, size: whole, text, isAscii: false, isCut };
    at += whole + 1;
    parts = [];
    size = 0;
    return line;
  };
  for (let block = from; block < to; block += BLOCK) {
    const part = file.slice(block, Math.min(to, block + BLOCK));
    const value = new Uint8Array(await part.arrayBuffer());
    const lines: FileLine[] = [];
    let begin = 0;
    const all = asciiIn(value);
    if (all !== undefined) {
      // Cut out of one text: decoding each line took longer than everything else. The first one may have started in the part before.
      for (let end = all.indexOf('\n'); end >= 0; end = all.indexOf('\n', begin)) {
        if (size > 0) lines.push(take(value.subarray(begin, end), false));
        else {
          const last = all.charCodeAt(end - 1) === RETURN ? end - 1 : end;
          const text = end - begin > MAX_LINE ? undefined : all.slice(begin, Math.max(begin, last));
          lines.push({ at, size: end - begin, text, isAscii: true, isCut: false });
          at += end - begin + 1;
        }
        begin = end + 1;
      }
    } else {
      for (let end = value.indexOf(NEWLINE); end >= 0; end = value.indexOf(NEWLINE, begin)) {
        lines.push(take(value.subarray(begin, end), false));
        begin = end + 1;
      }
    }
    const rest = value.subarray(begin);
    size += rest.length;
    if (size > MAX_LINE) parts = [];
    else if (rest.length > 0) parts.push(rest);
    if (lines.length > 0) yield lines;
  }
  if (size > 0) yield [take(new Uint8Array(), true)];
}

const LATIN = new TextDecoder('latin1');
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const NOT_ASCII = /[^\x00-\x7f]/;

/** The bytes as text when all are ASCII: then offsets are the same in both. */
function asciiIn(bytes: Uint8Array): string | undefined {
  const text = LATIN.decode(bytes);
  return NOT_ASCII.test(text) ? undefined : text;
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
