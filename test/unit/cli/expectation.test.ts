// What can be expected of a run, and what becomes of it.

import { describe, expect, it } from 'vitest';
import { parseDuration, showDuration } from '../../../src/cli/flags/duration.js';
import { junitReport } from '../../../src/cli/recording/check-report.js';
import { FORMS, parseExpectation } from '../../../src/cli/recording/expectation.js';
import { eventLine } from '../../../src/cli/terminal/event-line.js';
import { isColored, safeJson, table } from '../../../src/cli/terminal/output.js';
import type { BotSnapshot, StreamEvent } from '../../../src/client/index.js';
import { partial } from '../../harness/partial.js';
import { printed } from '../../harness/printed.js';

const log = (message: string, session_id: string | null = 'a', level = 'info'): StreamEvent =>
  ({
    event: 'log',
    id: 'e-1',
    data: {
      timestamp_ms: 0,
      level,
      scope: 'bot',
      session_id,
      transport: null,
      direction: null,
      message,
    },
  }) as StreamEvent;
const session = (
  id: string,
  status: string,
  eventId: string | null = 'e-2',
  restarts = 0,
): StreamEvent => {
  const given = { id, status, restarts, last_error: null, since_ms: 0, data: { of: id } };
  const snapshot = partial<BotSnapshot>(given);
  return { event: 'session', id: eventId, data: { snapshot } };
};
const gap: StreamEvent = { event: 'gap', id: 'e-3', data: { from: 'a', to: 'b', dropped: 2 } };

/** A run of events, each with when it came. */
type Run = [StreamEvent, number][];

describe('an expectation', () => {
  it.each<[string, Run, boolean, RegExp]>([
    ['bot a in_world within 5s', [[session('a', 'in_world', null), 0]], true, /after 0ms/],
    ['bot a is in_world within 5s', [[session('a', 'in_world'), 5000]], true, /after 5s/],
    ['bot a in_world within 5s', [[session('a', 'in_world'), 5001]], false, /after 5s, too late/],
    ['bot a in_world', [[session('a', 'in_world'), 99_000]], true, /after 1.7m/],
    ['bot a in_world', [[session('b', 'in_world'), 1]], false, /did not happen/],
    ['bot a in_world', [[session('a', 'out'), 1]], false, /did not happen/],
    ['bot a never failed', [[session('a', 'in_world'), 1]], true, /^never happened$/],
    ['bot a never failed', [], false, /^no snapshot of bot a was seen$/],
    ['bot a never failed', [[log('x'), 1]], false, /^no snapshot of bot a was seen$/],
    ['bot a in_world', [[session('b', 'in_world'), 1]], false, /: no snapshot of bot a was seen$/],
    ['no errors of a', [[log('x', 'b'), 1]], false, /^bot a never appeared$/],
    ['no errors of a', [[session('a', 'up', null), 1]], true, /^never happened$/],
    ['no line "x" of a', [], false, /^bot a never appeared$/],
    ['at most 1 events of a', [[log('x', 'b'), 1]], false, /^0 seen: bot a never appeared$/],
    ['at least 0 events of a', [], false, /^0 seen: bot a never appeared$/],
    ['bot a never restarted', [], false, /^no snapshot of bot a was seen$/],
    ['bot a never restarted', [[session('a', 'up', null, 3), 1]], true, /^never happened$/],
    ['bot a never restarted', [[session('a', 'backoff', null, 3), 1]], true, /^never happened$/],
    ['bot a never restarted', [[session('a', 'backoff'), 7]], false, /one after 7ms: a backoff$/],
    [
      'bot a never restarted',
      [
        [session('a', 'up', null, 3), 1],
        [session('b', 'up', null, 4), 1],
        [session('a', 'up', 'e-2', 3), 2],
        [session('a', 'up', null, 4), 9],
      ],
      false,
      /^there was one after 9ms: a up$/,
    ],
    [
      'no restarts',
      [
        [session('a', 'up', null, 3), 1],
        // The service was restarted, and counts from 0 again.
        [session('a', 'up', null, 0), 2],
        [session('a', 'up', 'e-3', 0), 2],
      ],
      true,
      /^never happened$/,
    ],
    ['no restarts', [[log('x'), 1]], false, /^no snapshot of any bot was seen$/],
    ['no restarts of a', [[session('b', 'up'), 1]], false, /^no snapshot of bot a was seen$/],
    ['no restarts', [[session('b', 'backoff'), 1]], false, /one after 1ms: b backoff$/],
    [
      'bot a never failed',
      [[session('a', 'failed'), 7]],
      false,
      /^a was failed after 7ms: a failed$/,
    ],
    [
      'bot a "two  words \\"x\\"" within 5s',
      [[session('a', 'two  words "x"'), 1]],
      true,
      /after 1ms/,
    ],
    ['bot a is "in_world"', [[session('a', 'in_world'), 1]], true, /after 1ms/],
    ['bot a never "two words"', [[session('a', 'two words'), 1]], false, /a was two words/],
    ['line "two words" of a', [[log('say two words!'), 3]], true, /after 3ms/],
    ['line "x" of bot a', [[log('x', 'b'), 3]], false, /did not happen/],
    ['line "two  spaces\t" of a', [[log('two  spaces\t'), 3]], true, /after 3ms/],
    ['no line "two  spaces"', [[log('two  spaces'), 3]], false, /found one/],
    ['line "a \\"b\\" c"', [[log('a "b" c', null), 3]], true, /after 3ms/],
    ['line "x" of a within 1 s', [[log('x'), 1001]], false, /too late/],
    ['no line "x"', [[log('y'), 3]], true, /^never happened$/],
    ['no line "x"', [[log('x y', 'b'), 3]], false, /found one after 3ms: b x y/],
    ['no errors', [[log('bad', 'a', 'warn'), 1]], true, /^never happened$/],
    ['no errors', [[log('bad', 'a', 'error'), 1]], false, /found one after 1ms: a bad/],
    [
      'no error lines of a',
      [
        [log('bad', 'b', 'error'), 1],
        [log('good'), 1],
      ],
      true,
      /^never happened$/,
    ],
    ['at least 2 events', [[log('x'), 1]], false, /1 seen$/],
    [
      'at least 2 events',
      [
        [log('x'), 1],
        [session('a', 'x'), 1],
      ],
      true,
      /2 seen/,
    ],
    [
      'at least 1 event',
      [
        [session('a', 'x', null), 1],
        [gap, 1],
      ],
      false,
      /0 seen/,
    ],
    [
      'at least 2 events of a',
      [
        [log('x'), 1],
        [log('x', 'b'), 1],
      ],
      false,
      /1 seen$/,
    ],
    [
      'at most 1 events',
      [
        [log('x'), 1],
        [log('x'), 1],
      ],
      false,
      /2 seen/,
    ],
    ['at most 1 events', [[log('x'), 1]], true, /1 seen$/],
    ['no gaps', [[log('x'), 1]], true, /^never happened$/],
    ['no gaps', [[gap, 1]], false, /events were lost after 1ms/],
  ])('%s, %#', (text, run, passed, message) => {
    const one = parseExpectation(`  ${text.replaceAll(' of ', '  of ')} `);
    for (const [event, atMs] of run) one.see(event, atMs);
    expect(one.verdict(null)).toMatchObject({
      text,
      passed,
      message: expect.stringMatching(message),
    });
  });

  it.each<[string, Run, boolean, RegExp]>([
    ['bot a in_world', [[session('a', 'in_world'), 1]], true, /after 1ms$/],
    ['at least 1 events', [[log('x'), 1]], true, /1 seen$/],
    ['at least 2 events', [[log('x'), 1]], false, /1 observed; it was cut off/],
    ['at most 1 events', [[log('x'), 1]], false, /1 observed; it was cut off/],
    ['at most 0 events', [[log('x'), 1]], false, /1 seen$/],
    ['bot a never failed', [], false, /^not observed, but it was cut off/],
    ['no line "x"', [[log('x'), 3]], false, /found one after 3ms/],
    ['no line "x"', [], false, /^not observed, but it was cut off/],
    ['no errors', [[log('x'), 3]], false, /^not observed, but it was cut off/],
    ['no gaps', [[log('x'), 3]], false, /^not observed, but it was cut off/],
  ])('%s of a run whose end was not seen, %#', (text, run, passed, message) => {
    const one = parseExpectation(text);
    for (const [event, atMs] of run) one.see(event, atMs);
    const verdict = one.verdict('it was cut off');
    expect(verdict).toMatchObject({ text, passed, message: expect.stringMatching(message) });
  });

  it.each([
    'bot a never failed',
    'bot a never restarted',
    'no restarts',
    'no errors of a',
    'no line "x" of a',
    'at most 1 events of a',
  ])('%s holds of a bot that never appears where that is meant', (text) => {
    expect(parseExpectation(text, true).verdict(null).passed).toBe(true);
    expect(parseExpectation(text, true).verdict('it was cut off').passed).toBe(false);
  });

  it('is decided as soon as nothing can change it', () => {
    const decided = (text: string, ...events: StreamEvent[]): boolean => {
      const one = parseExpectation(text);
      for (const event of events) one.see(event, 1);
      return one.isDecided;
    };
    expect(decided('bot a up')).toBe(false);
    expect(decided('bot a up', session('a', 'up'))).toBe(true);
    expect(decided('no gaps', log('x'))).toBe(false);
    expect(decided('no gaps', gap)).toBe(true);
    expect(decided('at least 1 events', log('x'))).toBe(true);
    expect(decided('at most 1 events', log('x'))).toBe(false);
    expect(decided('at most 1 events', log('x'), log('x'))).toBe(true);
  });

  it.each([
    '',
    'bot',
    'bot a',
    'bot a up within soon',
    'bot a up within 5 parsecs',
    'line x',
    'line "x',
    'at least some events',
    'bot a/b up',
    'bot a two words',
    'bot a "two words',
  ])('%j is none', (text) => {
    expect(() => parseExpectation(text)).toThrow(
      /is not (an expectation; use one of|a duration; use for example)/,
    );
  });

  it('each form that is shown is one', () => {
    for (const form of FORMS) {
      const filled = form
        .replace(/<(id|bot|status|text)>/g, 'x')
        .replace(/<n>/g, '1')
        .replace(/<time>/g, '5s');
      for (const text of [filled.replace(/[[\]]/g, ''), filled.replace(/ \[.*/, '')]) {
        expect(parseExpectation(text).text).toBe(text);
      }
    }
  });
});

it('a JUnit report is well-formed with any text in it', () => {
  const text = 'line "<&>\' \u0000\u001b \ud800 \uffff"';
  const xml = junitReport({
    source: '"<a>&',
    run_ms: 1234,
    events: 3,
    missing: null,
    passed: false,
    expectations: [
      { text, passed: true, message: '', after_ms: null },
      { text: 'b', passed: false, message: '"<&>', after_ms: 5 },
    ],
  });
  expect(xml).toContain('tests="2" failures="1" errors="0" time="1.234"');
  expect(xml).toContain('<failure message="&quot;&lt;&amp;&gt;"/>');
  expect(xml).toContain('time="0.005"');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot hold these
  expect(xml).not.toMatch(/[\u0000-\u0009\u000b-\u001f\ud800-\udfff\ufffe\uffff]/);
  const attributes = [...xml.matchAll(/"([^"]*)"/g)].map(([, value]) => value);
  for (const value of attributes) expect(value).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot);)/);
});

it('times are read and shown', () => {
  expect(['500ms', '5s', '2m', '1.5h', '30d', '7', ' 5 s '].map(parseDuration)).toEqual([
    500, 5000, 120_000, 5_400_000, 2_592_000_000, 7000, 5000,
  ]);
  for (const text of ['', 's', '-5s', '5 parsecs', '1e3', '5s5']) {
    expect(parseDuration(text)).toBeUndefined();
  }
  expect([0, 999, 1000, 90_000, 7_200_000, 172_800_000].map(showDuration)).toEqual([
    '0ms',
    '999ms',
    '1s',
    '1.5m',
    '2h',
    '2d',
  ]);
});

describe('what goes to a terminal', () => {
  it('has colours only where it is one, or they are asked for', () => {
    expect(isColored(true, {}, true)).toBe(true);
    expect(isColored(true, {}, false)).toBe(false);
    expect(isColored(false, { FORCE_COLOR: '1' }, true)).toBe(false);
    expect(isColored(true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true)).toBe(false);
    expect(isColored(true, { NO_COLOR: '' }, true)).toBe(true);
    expect(isColored(true, { TERM: 'dumb' }, true)).toBe(false);
    expect(isColored(true, { FORCE_COLOR: '0' }, false)).toBe(false);
    expect(isColored(true, { FORCE_COLOR: '1' }, false)).toBe(true);
  });

  it('shows every kind of event on one line without control characters', () => {
    const evil = 'a\u001b[31m\r\n\u009b\u202eb';
    const events: StreamEvent[] = [
      log(evil, evil),
      session(evil, evil),
      gap,
      { event: 'other', id: null, name: evil, data: { evil } },
    ];
    for (const event of events) {
      const plain = printed(...eventLine(event, false));
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(plain).toMatch(/^[^\u0000-\u001f\u007f-\u009f\u202e]+\n$/);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours, and nothing else
      expect(printed(...eventLine(event, true)).replace(/\u001b\[\d+m/g, '')).toBe(plain);
    }
    expect(JSON.parse(safeJson({ evil }))).toEqual({ evil });
    expect(table(['A'], [[evil]]).split('\n')).toHaveLength(3);
  });
});

it.each([
  ['a duration', `bot a x within ${'a'.repeat(1_000_000)} 1`],
  ['a text without its end', `line "${'\\"'.repeat(500_000)}`],
])('%s of a million characters is read once: squared, it would not end', (_, text) => {
  expect(() => parseExpectation(text)).toThrow('is not an expectation');
});
