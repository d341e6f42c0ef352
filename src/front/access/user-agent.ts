// The short name of a client, for people who look at a list of tokens. It says what the client claims to be.

/** Longest header that is looked at, in characters. */
const MAX_LENGTH = 512;

/** The order matters: most browsers also claim to be those further down. */
const BROWSERS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|HeadlessChrome|Chromium|CriOS)\//],
  ['Safari', /\bSafari\//],
];
const SYSTEMS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
];
/** A program's own name, as `curl/8.5.0`. */
const PRODUCT = /^(?!Mozilla\b)([A-Za-z][A-Za-z0-9._-]{0,31})(?:[/ ]|$)/;

/** `Firefox on Linux`, `curl`; undefined when the header says nothing. */
export function clientName(userAgent: string): string | undefined {
  const text = userAgent.slice(0, MAX_LENGTH);
  const find = (list: typeof BROWSERS): string | undefined =>
    list.find(([, pattern]) => pattern.test(text))?.[0];
  const browser = find(BROWSERS);
  if (browser === undefined) return PRODUCT.exec(text)?.[1];
  const system = find(SYSTEMS);
  return system === undefined ? browser : `${browser} on ${system}`;
}
