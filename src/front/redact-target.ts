// Pure; used by the fronts. Owns how a request's path and query are shown in the access log: decoded, without secrets, on
// one line, of bounded length.

/** A value that is a secret by its name, also where it stands in a URL that is itself a value. */
const NAMED = /((?:token|ticket|pin)\s*=)[^&;#"']*/gi;
/** What can be a token or a ticket, wherever it stands. A space is a `+` that somebody has decoded. */
const OPAQUE = /[A-Za-z0-9+/_ -]{32,}={0,2}/g;
/** The path of one bot: words that are known do not make its id longer. */
const BOT_PATH = /^(\/api\/bots\/)([^/]*)(\/(?:start|stop|restart|config|incidents))?$/;
const HIDDEN = '***';
const MAX_SHOWN = 512;
/** How often a text may have been encoded. What is still encoded then is hidden whole. */
const MAX_DECODED = 5;

/** @param pin of the running process: it is hidden also where nobody expects it. */
export function redactTarget(path: string, query: string, pin: string): string {
  const shownPath = decode(path);
  const shownQuery = decode(query);
  if (shownPath === undefined || shownQuery === undefined) return HIDDEN;
  const [, before = '', rest = shownPath, after = ''] = BOT_PATH.exec(shownPath) ?? [];
  const target = `${before}${redact(rest)}${after}${shownQuery === '' ? '' : `?${redact(shownQuery)}`}`;
  // Behind the long runs, which it would cut into shorter ones.
  return printable(target.replaceAll(pin, HIDDEN)).slice(0, MAX_SHOWN);
}

function redact(text: string): string {
  return text.replace(NAMED, `$1${HIDDEN}`).replace(OPAQUE, HIDDEN);
}

/** A character for each byte, undefined when it was encoded too often. What is no encoding stays as it is. */
function decode(text: string): string | undefined {
  let decoded = Buffer.from(text).toString('latin1');
  for (let round = 0; round < MAX_DECODED; round++) {
    if (!ENCODED.test(decoded)) return decoded;
    decoded = decoded.replace(EVERY_ENCODED, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  }
  return ENCODED.test(decoded) ? undefined : decoded;
}

const ENCODED = /%[0-9a-f]{2}/i;
const EVERY_ENCODED = /%([0-9a-f]{2})/gi;

/** A line break or a terminal's control sequence would let a client write lines of its own. */
function printable(bytes: string): string {
  return bytes.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
