// Pure; used by the irc kind. Owns which answers of a server end a registration, and which of them for good.

import { BotError } from '../../bot-sdk/bot-error.js';

/** A wrong password, a ban or an impossible nick will be the same next time: the bot has failed. */
export function registrationError(command: string, params: readonly string[]): Error | undefined {
  const text = params.at(-1) ?? '';
  const forGood = (what: string, code: string): BotError =>
    new BotError(`${what}: ${text}`, { restart: false, code });
  switch (command) {
    case '431':
    case '432':
      return forGood('the server does not accept the nick', 'bad_nick');
    case '433':
    case '436':
    case '437':
      // Often the bot's own ghost, which the server has yet to miss.
      return new BotError(`the nick ${params[1]} is in use`, { code: 'nick_in_use' });
    case '464':
      return forGood('the server password is wrong or missing', 'wrong_password');
    case '465':
      return forGood('banned from the server', 'banned');
    case '902':
    case '904':
    case '905':
      return forGood('the SASL login was refused', 'wrong_password');
    case 'ERROR':
      // ngIRCd says it in words only.
      return /bad (?:server )?password|password (?:mismatch|incorrect)/i.test(text)
        ? forGood('the server password is wrong or missing', 'wrong_password')
        : undefined;
    default:
      return undefined;
  }
}
