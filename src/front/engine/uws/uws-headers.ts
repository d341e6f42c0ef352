import type { HttpResponse } from 'uWebSockets.js';

export function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) {
    res.writeHeader(headers[at] as string, headers[at + 1] as string);
  }
}

/**
 * One header whose value contains the lines of the others. uWebSockets.js writes the value verbatim, and each call into it
 * costs more than the copied bytes.
 */
export function inOneHeader([name = '', value = '', ...others]: readonly string[]): [
  string,
  string,
] {
  const lines = [value];
  for (let at = 0; at < others.length; at += 2) lines.push(`${others[at]}: ${others[at + 1]}`);
  return [name, lines.join('\r\n')];
}

/** Runs in a front thread. Owns the last headers, and the same as one header: most responses have those of the one before. */
export class UsualHeaders {
  #last: readonly string[] | undefined;
  /** The last headers as one; made when they are used the second time. */
  #asOne: [name: string, value: string] | undefined;

  write(res: HttpResponse, headers: readonly string[]): void {
    if (headers === this.#last && headers.length > 0) {
      this.#asOne ??= inOneHeader(headers);
      res.writeHeader(this.#asOne[0], this.#asOne[1]);
      return;
    }
    this.#last = headers;
    this.#asOne = undefined;
    writeHeaders(res, headers);
  }
}
