/** A value that is secret by its name, also inside a URL that is itself a value. */
const NAMED = /((?:token|ticket|pin)\s*=)[^&;#"']*/gi;
/** A text that could be a token or a ticket. A space is a decoded `+`. */
const OPAQUE = /[A-Za-z0-9+/_ -]{32,}={0,2}/g;
/** The path of a bot; a known action after the id is no part of it. */
const BOT_PATH = /^(\/api\/bots\/)([^/]*)(\/(?:start|stop|restart|config|incidents))?$/;
const HIDDEN = '***';
const MAX_SHOWN = 512;
/** Levels of percent-encoding that are decoded. Text with more is hidden as a whole. */
const MAX_DECODED = 5;

/**
 * A request's path and query for the access log: decoded, without secrets, on one line, of bounded length.
 * @param pin of the running process, if it has one: hidden wherever it appears.
 */
export function redactTarget(path: string, query: string, pin: string | null): string {
  const shownPath = decode(path);
  const shownQuery = decode(query);
  if (shownPath === undefined || shownQuery === undefined) return HIDDEN;
  const [, before = '', rest = shownPath, after = ''] = BOT_PATH.exec(shownPath) ?? [];
  const target = `${before}${redact(rest)}${after}${shownQuery === '' ? '' : `?${redact(shownQuery)}`}`;
  // The PIN is hidden after the long runs, because hiding it first would split them.
  const shown = pin === null ? target : target.replaceAll(pin, HIDDEN);
  return printable(shown).slice(0, MAX_SHOWN);
}

function redact(text: string): string {
  return text.replace(NAMED, `$1${HIDDEN}`).replace(OPAQUE, HIDDEN);
}

/** A character for each byte; undefined if it is encoded too often. Invalid encoding stays as it is. */
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

/** Line breaks and control sequences would let a client forge lines. */
function printable(bytes: string): string {
  return bytes.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
