let texts: Readonly<Record<number, string | undefined>> | undefined;

/** A status and its text. node:http has the texts: an engine without it loads it when the first is needed. */
export function statusLine(status: number): string {
  texts ??= process.getBuiltinModule('node:http').STATUS_CODES;
  return `${status} ${texts[status] ?? ''}`;
}
