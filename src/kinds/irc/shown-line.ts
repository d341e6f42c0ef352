import { visible } from '../../shared/contract/escapes.js';

/** Arguments of AUTHENTICATE that are not secret. */
const HARMLESS_AUTHENTICATE = /^(?:\+|\*|PLAIN|EXTERNAL|SCRAM-[A-Z0-9-]+)$/i;
/** Commands whose arguments are credentials, with the number of arguments that are shown. */
const CREDENTIALS: Record<string, number> = { PASS: 0, OPER: 1 };
/** Shortcuts to services, for `PRIVMSG NickServ :…`. */
const SERVICE_COMMAND = /^(?:NS|NICKSERV|CS|CHANSERV|IDENTIFY)$/i;
/** Recipients of passwords: NickServ, AuthServ, Q, X. */
const SERVICE = /^(?:\w*serv|q|x)(?:@.*)?$/i;

/** An IRC line for logs: readable, without credentials. */
export function shownLine(line: string): string {
  return visible(withoutCredentials(line));
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
