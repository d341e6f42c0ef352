/** Arguments of AUTHENTICATE that are not secret. */
const HARMLESS_AUTHENTICATE = /^(?:\+|\*|PLAIN|EXTERNAL|SCRAM-[A-Z0-9-]+)$/i;
/** Commands whose arguments are credentials, with the number of arguments that are shown. */
const CREDENTIALS: Record<string, number> = { PASS: 0, OPER: 1 };
/** Shortcuts to services, for `PRIVMSG NickServ :…`. */
const SERVICE_COMMAND = /^(?:NS|NICKSERV|CS|CHANSERV|IDENTIFY)$/i;
/** Recipients of passwords: NickServ, AuthServ, Q, X. */
const SERVICE = /^(?:\w*serv|q|x)(?:@.*)?$/i;
/** Shorter secrets would hide half of every line. */
const MIN_SECRET_LENGTH = 4;

/** An IRC line for logs: readable, without credentials and secrets. */
export function shownLine(line: string, secrets: readonly string[]): string {
  let shown = withoutCredentials(line);
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_LENGTH) shown = shown.replaceAll(secret, '***');
  }
  return shown.replace(/\p{Cc}/gu, pictureOf);
}

function withoutCredentials(line: string): string {
  const match = /^((?:@\S+ +)?(?::\S+ +)?)(\S+)(?: +(.*))?$/s.exec(line);
  if (!match) return line;
  const [, source = '', command = '', rest = ''] = match;
  const words = rest.split(' ');
  const name = command.toUpperCase();
  const keep = (count: number): string =>
    `${source}${[command, ...words.slice(0, count)].join(' ')} ***`;
  if (name === 'AUTHENTICATE') return HARMLESS_AUTHENTICATE.test(rest) ? line : keep(0);
  const visible = CREDENTIALS[name];
  if (visible !== undefined) return keep(visible);
  // The first word is the command for the service.
  if (SERVICE_COMMAND.test(name)) return words.length > 1 ? keep(1) : keep(0);
  const [target = ''] = words;
  if (/^(?:PRIVMSG|NOTICE|SQUERY)$/.test(name) && SERVICE.test(target) && words.length > 2) {
    return keep(2);
  }
  return line;
}

/** A visible character in place of a control character, which may format text or control a terminal. */
function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
}
