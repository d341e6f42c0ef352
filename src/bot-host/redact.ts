// Pure; used by bot hosts. Owns what must not be seen of a URL.

const SECRET = /pass|secret|token|ticket|key|auth|credential|signature|^pin$|^code$|^sig$/i;

/**
 * The URL as it may be shown: no user name or password, no fragment (it is never sent, and is where some logins put a
 * token), the values of parameters that sound secret as `***`.
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
  return shown.href;
}

/** Text as it may be shown: without the user names and passwords of URLs in it, as Node quotes them in errors. */
export function redactText(text: string): string {
  // To the last @: one that stands in a password as it is ends nothing.
  return text.replace(/\/\/[^\s/]*@/g, '//***@');
}
