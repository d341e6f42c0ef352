// Pure; used by the fronts. Owns how a request's path and query are shown in the access log: without secrets, on one line,
// of bounded length.

/** Parameters whose value is a secret. */
const SECRETS: ReadonlySet<string> = new Set(['token', 'ticket', 'pin']);
/** A value that can be a token or a ticket, wherever it stands. */
const OPAQUE = /^[A-Za-z0-9+/_-]{43,}={0,2}$/;
const HIDDEN = '***';
const MAX_SHOWN = 512;

/** @param pin of the running process: it is hidden also where nobody expects it. */
export function redactTarget(path: string, query: string, pin: string): string {
  const shownPath = path
    .split('/')
    .map((segment) => (isOpaque(segment) ? HIDDEN : segment))
    .join('/');
  const parts = query === '' ? [] : query.split('&').map(redactParameter);
  const target = [shownPath, ...(parts.length > 0 ? [parts.join('&')] : [])].join('?');
  return printable(target.replaceAll(pin, HIDDEN)).slice(0, MAX_SHOWN);
}

function redactParameter(part: string): string {
  const at = part.indexOf('=');
  if (at === -1) return isOpaque(part) ? HIDDEN : part;
  const name = part.slice(0, at);
  const isSecret = SECRETS.has(decode(name).trim().toLowerCase()) || isOpaque(part.slice(at + 1));
  return isSecret ? `${name}=${HIDDEN}` : part;
}

function isOpaque(text: string): boolean {
  return OPAQUE.test(decode(text).replaceAll(' ', '+'));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A line break or a terminal's control sequence would let a client write lines of its own. */
function printable(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );
}
