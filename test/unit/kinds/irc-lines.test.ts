// IRC lines as they are logged, and the replies that end a registration.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BotError } from '../../../src/bot-sdk/bot-error.js';
import { registrationError } from '../../../src/kinds/irc/registration-error.js';
import { shownLine } from '../../../src/kinds/irc/shown-line.js';

describe('shownLine', () => {
  it.each([
    ['PASS open-sesame', 'PASS ***'],
    ['pass :open sesame', 'pass ***'],
    ['OPER god open-sesame', 'OPER god ***'],
    ['AUTHENTICATE PLAIN', 'AUTHENTICATE PLAIN'],
    ['AUTHENTICATE +', 'AUTHENTICATE +'],
    ['AUTHENTICATE YQBhAGI=', 'AUTHENTICATE ***'],
    ['PRIVMSG NickServ :IDENTIFY open-sesame', 'PRIVMSG NickServ :IDENTIFY ***'],
    [
      'PRIVMSG nickserv@services.test :GHOST a open-sesame',
      'PRIVMSG nickserv@services.test :GHOST ***',
    ],
    [
      'PRIVMSG Q@CServe.quakenet.org :AUTH me open-sesame',
      'PRIVMSG Q@CServe.quakenet.org :AUTH ***',
    ],
    ['NS IDENTIFY open-sesame', 'NS IDENTIFY ***'],
    ['@t=1 :a!b@c PRIVMSG NickServ :IDENTIFY x', '@t=1 :a!b@c PRIVMSG NickServ :IDENTIFY ***'],
    ['PRIVMSG #drover :I can identify birds', 'PRIVMSG #drover :I can identify birds'],
    [':irc.test 001 a :Welcome', ':irc.test 001 a :Welcome'],
    ['', ''],
  ])('%j is shown as %j', (line, shown) => {
    expect(shownLine(line)).toBe(shown);
  });

  it('has no control characters, for any input', () => {
    expect(shownLine('PRIVMSG #a :\x01ACTION \x1b[2J\x7f\x9b\x01')).toBe(
      'PRIVMSG #a :␁ACTION ␛[2J␡⟨9b⟩␁',
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (line) => {
        expect(shownLine(line)).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

describe('registrationError', () => {
  it.each([
    ['464', ['a', 'Password incorrect'], /password is wrong/, false],
    ['ERROR', ['Access denied: Bad password?'], /password is wrong/, false],
    ['465', ['a', 'You are banned'], /banned from the server: You are banned/, false],
    ['432', ['*', '1st', 'Erroneous nickname'], /does not accept the nick/, false],
    ['904', ['a', 'SASL authentication failed'], /SASL login was refused/, false],
    ['433', ['*', 'anna', 'Nickname is already in use'], /the nick anna is in use/, true],
  ] as const)('%s %j', (command, params, message, restart) => {
    const error = registrationError(command, params);
    expect(error).toBeInstanceOf(BotError);
    expect(error).toMatchObject({ message: expect.stringMatching(message), restart });
  });

  it('is undefined for other replies', () => {
    expect(registrationError('001', ['a', 'Welcome'])).toBeUndefined();
    expect(registrationError('ERROR', ['Closing Link: Server going down'])).toBeUndefined();
    expect(registrationError('904', [])).toBeInstanceOf(BotError);
  });
});
