// The command line of a bot: what a line means, what completes it, and the same call as text for a shell.

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeLine } from '../../../dashboard/src/console/complete-line.js';
import { type Commands, parseLine, wordsOf } from '../../../dashboard/src/console/parse-line.js';
import { curlText, droverText, quoted } from '../../../dashboard/src/console/shell-text.js';
import type { JsonObject } from '../../../src/client/index.js';

const COMMANDS: Commands = {
  say: {
    description: 'Says something.',
    args: { properties: { text: { type: 'string' } }, required: ['text'] },
  },
  print: {
    description: 'Writes a line.',
    args: {
      properties: {
        text: { type: 'string', description: 'What to write.' },
        level: { enum: ['info', 'warn'], default: 'info' },
        times: { type: 'integer', minimum: 1, maximum: 9, default: 1 },
        loud: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['text'],
    },
  },
  free: { description: '', args: {} },
  stop: { description: '', args: { properties: {} } },
};

describe('a line', () => {
  it.each<[string, string, JsonObject]>([
    ['say text=hello', 'say', { text: 'hello' }],
    ['  say   text="hello \\"you\\" there" ', 'say', { text: 'hello "you" there' }],
    ['say text=\'a "b" c\'', 'say', { text: 'a "b" c' }],
    // A command with one text takes a sentence.
    ['say hello there', 'say', { text: 'hello there' }],
    ['say a=b c', 'say', { text: 'a=b c' }],
    ['say "hello there"', 'say', { text: 'hello there' }],
    // A text stays a text.
    ['say text=2026', 'say', { text: '2026' }],
    ['say {"text": "hello {"}', 'say', { text: 'hello {' }],
    [
      'print text=x level=warn times=3 loud=true tags=["a b","c"]',
      'print',
      { text: 'x', level: 'warn', times: 3, loud: true, tags: ['a b', 'c'] },
    ],
    ['free a=1 b=x c={"d":[1, 2]}', 'free', { a: 1, b: 'x', c: { d: [1, 2] } }],
    ['stop', 'stop', {}],
  ])('%s', (line, command, args) => {
    expect(parseLine(line, COMMANDS)).toEqual({ command, args });
  });

  it.each([
    ['', 'Type a command.'],
    ['shout x', 'There is no command “shout”; the commands are say, print, free, stop.'],
    ['say', 'text is required.'],
    [
      'print x',
      'print has no argument “x”; its arguments are text=…, level=…, times=…, loud=…, tags=….',
    ],
    ['print text=x times=12', 'times is more than 9.'],
    ['print {"text": "x"', 'This JSON object is not complete.'],
    ['print {"text": "x"} times=2', 'No argument can follow a JSON object.'],
    ['stop now', 'stop has no argument “now”.'],
    ['toString', 'There is no command “toString”; the commands are say, print, free, stop.'],
  ])('that is wrong says what: %s', (line, fault) => {
    expect(() => parseLine(line, COMMANDS)).toThrow(fault);
  });

  it('is read to its end, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...' ab="\'\\{}[],:') }), (line) => {
        const words = wordsOf(line);
        expect(
          words
            .map(({ raw }) => raw)
            .join('')
            .replaceAll(' ', ''),
        ).toBe(line.replaceAll(' ', ''));
      }),
    );
  });
});

describe('completion', () => {
  const labels = (line: string, cursor = line.length): string[] =>
    completeLine(line, cursor, COMMANDS).items.map(({ label }) => label);

  it('offers commands, then arguments that are not given yet, then values', () => {
    expect(labels('')).toEqual(['say', 'print', 'free', 'stop']);
    expect(labels('s')).toEqual(['say', 'stop']);
    // What begins so comes first.
    expect(labels('p')).toEqual(['print', 'stop']);
    expect(labels('print ')).toEqual(['text=', 'level=', 'times=', 'loud=', 'tags=']);
    expect(labels('print text="a b" l')).toEqual(['level=', 'loud=']);
    expect(labels('print level=')).toEqual(['info', 'warn']);
    expect(labels('print level=w')).toEqual(['warn']);
    expect(labels('print loud=f')).toEqual(['false']);
    expect(labels('print text=')).toEqual([]);
    expect(labels('print {"te')).toEqual([]);
    expect(labels('shout ')).toEqual([]);
  });

  it('takes the place of the word at the cursor', () => {
    expect(completeLine('pri text=x', 3, COMMANDS)).toMatchObject({ from: 0, to: 3 });
    const { from, to, items } = completeLine('print level=wa', 14, COMMANDS);
    expect({ from, to, items }).toEqual({
      from: 12,
      to: 14,
      items: [{ insert: 'warn ', label: 'warn', hint: '' }],
    });
    expect(completeLine('print ', 6, COMMANDS).items[0]?.hint).toBe('required, What to write.');
  });
});

describe('as a shell command', () => {
  const words = (command: string): string[] => {
    const printed = execFileSync('sh', ['-c', `set -- ${command}; printf '%s\\0' "$@"`], {
      env: { DROVER_TOKEN: 'the token' },
    });
    return printed.toString().split('\0').slice(0, -1);
  };
  const url = 'http://h:1';

  it('a shell reads each word as it is, for any text', () => {
    const texts = [
      "it's",
      '$HOME `id` "x" \\',
      'two\nlines',
      '',
      '*',
      '~',
      '--flag',
      'ü € 😀',
      '!x',
    ];
    expect(words(texts.map(quoted).join(' '))).toEqual(texts);
    expect(quoted('text=hello')).toBe('text=hello');
  });

  it('is that of the command line of Drover, in its syntax', () => {
    const text = (args: JsonObject, bots = ['a']): string[] =>
      words(droverText({ bots, command: 'say', args }, url));
    const start = ['drover', 'invoke', '--url', url];
    expect(text({ text: "it's $5" })).toEqual([...start, 'a', 'say', "text=it's $5"]);
    expect(text({ n: 3, tags: ['a b'], on: true }, ['a', 'b'])).toEqual([
      ...start,
      'a,b',
      'say',
      'n=3',
      'tags=["a b"]',
      'on=true',
    ]);
    // The command line would read these as a number and as a flag.
    expect(text({ text: '2026' })).toEqual([...start, 'a', 'say', '{"text":"2026"}']);
    expect(text({ '-x': 'y' })).toEqual([...start, '--', 'a', 'say', '-x=y']);
  });

  it('is curl with the token of the environment', () => {
    const call = { bots: ['a'], command: 'say', args: { text: "it's" } };
    expect(words(curlText(call, url))).toEqual([
      'curl',
      '-sS',
      'http://h:1/invoke',
      '-H',
      'Authorization: Bearer the token',
      '-H',
      'Content-Type: application/json',
      '-d',
      '{"session_id":"a","command":"say","args":{"text":"it\'s"}}',
    ]);
    expect(curlText({ ...call, bots: ['a', 'b'] }, url)).toContain('"session_id":["a","b"]');
  });
});
