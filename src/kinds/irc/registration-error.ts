import { BotError } from '../../bot-sdk/bot-error.js';

/** The error of a reply that ends the registration. Errors that would recur (password, ban, bad nick) allow no restart. */
export function registrationError(command: string, params: readonly string[]): Error | undefined {
  const text = params.at(-1) ?? '';
  const permanent = (what: string, code: string): BotError =>
    new BotError(`${what}: ${text}`, { restart: false, code });
  switch (command) {
    case '431':
    case '432':
      return permanent('the server does not accept the nick', 'bad_nick');
    case '433':
    case '436':
    case '437':
      // Often the bot's own earlier connection, which the server has not timed out yet.
      return new BotError(`the nick ${params[1]} is in use`, { code: 'nick_in_use' });
    case '464':
      return permanent('the server password is wrong or missing', 'wrong_password');
    case '465':
      return permanent('banned from the server', 'banned');
    case '902':
    case '904':
    case '905':
      return permanent('the SASL login was refused', 'wrong_password');
    case 'ERROR':
      // ngIRCd sends no numeric for it.
      return /bad (?:server )?password|password (?:mismatch|incorrect)/i.test(text)
        ? permanent('the server password is wrong or missing', 'wrong_password')
        : undefined;
    default:
      return undefined;
  }
}
