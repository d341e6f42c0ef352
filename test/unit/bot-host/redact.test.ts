// URLs without their secrets.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactUrl } from '../../../src/bot-host/redact.js';

const redact = (url: string): string => redactUrl(new URL(url));

describe('redactUrl', () => {
  it('never shows a password, a user name or the value of a parameter that sounds secret', () => {
    const names = [
      'token',
      'access_token',
      'PASSWORD',
      'pin',
      'api_key',
      'sig',
      'code',
      'authTicket',
      'client_secret',
    ];
    const secret = fc.stringMatching(/^[a-z0-9]{12,20}$/).map((text) => `Q${text}Q`);
    fc.assert(
      fc.property(
        secret,
        fc.constantFrom(...names),
        fc.array(fc.tuple(fc.constantFrom('x', 'page', ...names), secret)),
        (value, name, more) => {
          const query = more
            .filter(([other]) => names.includes(other))
            .map(([other, text]) => `&${other}=${text}`)
            .join('');
          const shown = redact(`http://${value}:${value}@host/path?${name}=${value}&x=1${query}`);
          expect(shown).not.toMatch(/Q[a-z0-9]{12,20}Q/);
          expect(shown).toContain('x=1');
          expect(shown).toMatch(/^http:\/\/\*\*\*@host\/path\?/);
        },
      ),
    );
  });

  it('leaves a URL without secrets as it is', () => {
    for (const url of [
      'http://host/',
      'https://host:81/a/b?x=1&page=2',
      'http://host/?q=a%20b+c',
    ]) {
      expect(redact(url)).toBe(new URL(url).href);
    }
  });

  it('hides every one of several values, also percent-encoded names, and does not touch its input', () => {
    const url = new URL('http://host/?token=one&token=two&%74oken=three&pin=123456');
    const before = url.href;
    expect(redactUrl(url)).not.toMatch(/one|two|three|123456/);
    expect(url.href).toBe(before);
  });

  // A fragment is not sent to the server, but every client that reads the stream would see it.
  it('does not show a secret in the fragment', () => {
    expect(redact('http://host/callback#access_token=Qsecret&state=1')).not.toContain('Qsecret');
  });

  it('does not show the tokens that some services have in paths', () => {
    for (const [url, shown] of [
      [
        'https://api.telegram.org/bot123:AAsecret/sendMessage',
        'https://api.telegram.org/bot***/sendMessage',
      ],
      [
        'https://discord.com/api/webhooks/123/secret_x-y?wait=true',
        'https://discord.com/api/webhooks/123/***?wait=true',
      ],
      [
        'https://hooks.slack.com/services/T01/B01/secret',
        'https://hooks.slack.com/services/T01/***',
      ],
      ['https://host/bots/12/services/list', 'https://host/bots/12/services/list'],
    ] as const) {
      expect(redact(url)).toBe(shown);
    }
  });
});

it('hides each of thousands of parameters, in one pass over them', () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `key${at}=secret`);
  const shown = redactUrl(new URL(`http://a/?${names.join('&')}&b=1&key1=again`));
  expect(shown).not.toMatch(/secret|again/);
  expect(shown).toMatch(/&key19999=\*\*\*&b=1$/);
});
