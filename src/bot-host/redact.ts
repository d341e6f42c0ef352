const SECRET = /pass|secret|token|ticket|key|auth|credential|signature|^pin$|^code$|^sig$/i;

/** Tokens in paths, of Telegram bots and of Discord and Slack webhooks. The part before them is kept. */
const SECRET_PATHS = [
  /(\/bot)\d+:[^/]+/,
  /(\/webhooks\/\d+\/)[^/]+/,
  /(\/(?:services|workflows|triggers)\/[TE]\w+\/)[^?]+/,
];

/**
 * The URL without secrets: user name, password, parameters with secret-sounding names and tokens in known paths become
 * `***`. The fragment is removed: it is never sent, and some logins put a token there.
 */
export function redactUrl(url: URL): string {
  const shown = new URL(url);
  shown.hash = '';
  if (shown.username || shown.password) {
    shown.username = '***';
    shown.password = '';
  }
  // Sets all parameters at once, because each change of searchParams writes the whole URL again.
  const parameters = [...shown.searchParams];
  if (parameters.some(([name]) => SECRET.test(name))) {
    const hidden = new Set<string>();
    const kept = parameters.filter(([name]) => {
      if (!SECRET.test(name)) return true;
      const isFirst = !hidden.has(name);
      hidden.add(name);
      return isFirst;
    });
    shown.search = new URLSearchParams(
      kept.map(([name, value]): [string, string] => [name, hidden.has(name) ? '***' : value]),
    ).toString();
  }
  for (const secret of SECRET_PATHS) shown.pathname = shown.pathname.replace(secret, '$1***');
  return shown.href;
}

/** The text without user names and passwords of URLs, which Node quotes in errors. */
export function redactText(text: string): string {
  // Matches up to the last @, because a password may contain one.
  return text.replace(/\/\/[^\s/]*@/g, '//***@');
}
