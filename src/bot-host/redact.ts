// Pure; used by bot hosts. Owns what must not be seen of a URL, and of a text.

const SECRET = /pass|secret|token|ticket|key|auth|credential|signature|^pin$|^code$|^sig$/i;

/** Tokens in paths: of Telegram's bots, and of webhooks of Discord and Slack. What is before them is kept. */
const SECRET_PATHS = [
  /(\/bot)\d+:[^/]+/,
  /(\/webhooks\/\d+\/)[^/]+/,
  /(\/(?:services|workflows|triggers)\/[TE]\w+\/)[^?]+/,
];
/** Shorter secrets would blot out half of every line. */
const MIN_SECRET_LENGTH = 4;

/**
 * The URL as it may be shown: no user name or password, no fragment (it is never sent, and is where some logins put a
 * token), the values of parameters that sound secret as `***`, and so the tokens that some services have in paths.
 */
export function redactUrl(url: URL): string {
  const shown = new URL(url);
  shown.hash = '';
  if (shown.username || shown.password) {
    shown.username = '***';
    shown.password = '';
  }
  for (const name of new Set(shown.searchParams.keys())) {
    if (SECRET.test(name)) shown.searchParams.set(name, '***');
  }
  for (const secret of SECRET_PATHS) shown.pathname = shown.pathname.replace(secret, '$1***');
  return shown.href;
}

/** Text as it may be shown: without the user names and passwords of URLs in it, as Node quotes them in errors. */
export function redactText(text: string): string {
  // To the last @: one that stands in a password as it is ends nothing.
  return text.replace(/\/\/[^\s/]*@/g, '//***@');
}

/** @returns what blots these secrets out of a text, also where they are percent-encoded; undefined without any. */
export function blotter(secrets: readonly string[]): ((text: string) => string) | undefined {
  const long = secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH);
  if (long.length === 0) return undefined;
  // The longest first: another one may be a part of it.
  const forms = [...new Set(long.flatMap((secret) => [secret, percentEncoded(secret)]))].sort(
    (one, other) => other.length - one.length,
  );
  return (text) => forms.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}

function percentEncoded(secret: string): string {
  // Half of a surrogate pair cannot be.
  return encodeURIComponent(secret.toWellFormed());
}
