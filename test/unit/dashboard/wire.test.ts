// Wire messages: which belong together, in which formats they are shown, and how a query selects them.

import { describe, expect, it } from 'vitest';
import { logLine } from '../../../dashboard/src/hub/line.js';
import type { Line } from '../../../dashboard/src/hub/messages.js';
import { hexOf, jsonOf } from '../../../dashboard/src/wire/wire-format.js';
import { WirePairs } from '../../../dashboard/src/wire/wire-pairs.js';
import { partIn, withPart } from '../../../dashboard/src/wire/wire-part.js';
import type { LogEvent } from '../../../src/client/index.js';

let n = 0;
function wire(arrow: '>' | '<', message: string, more: Partial<LogEvent> = {}): Line {
  n += 1;
  const event: LogEvent = {
    timestamp_ms: n,
    level: 'info',
    scope: 'tcp',
    session_id: 'a',
    transport: 'tcp',
    direction: arrow === '>' ? 'outgoing' : 'incoming',
    message,
    ...more,
  };
  return { ...logLine(`e-${n}`, event), n };
}
const http = (arrow: '>' | '<', message: string): Line =>
  wire(arrow, message, { transport: 'http' });
const rpc = (arrow: '>' | '<', message: object): Line =>
  wire(arrow, `POST ${JSON.stringify({ jsonrpc: '2.0', ...message })}`);

/** The texts that belong to each line: the request, then its replies. */
function exchanges(rows: readonly Line[], pairs = new WirePairs()): (string[] | undefined)[] {
  pairs.take(rows, 0);
  return rows.map((line) => {
    const found = pairs.of(line);
    return found && [found.request, ...found.replies].map(({ text }) => text);
  });
}

describe('a reply', () => {
  it('is found by the correlation id, in the same scope of the same bot only, in either direction', () => {
    const id = (text: string, arrow: '>' | '<', more: Partial<LogEvent> = {}): Line =>
      wire(arrow, text, { correlation_id: '7', ...more });
    const rows = [
      id('ask', '>'),
      id('other bot', '<', { session_id: 'b' }),
      id('other scope', '<', { scope: 'ws' }),
      wire('<', 'no id'),
      id('first', '<'),
      id('second', '<'),
      id('again', '>'),
      id('third', '<'),
    ];
    const first = ['ask', 'first', 'second'];
    const again = ['again', 'third'];
    expect(exchanges(rows)).toEqual([
      first,
      ['other bot'],
      ['other scope'],
      undefined,
      first,
      first,
      again,
      again,
    ]);
  });

  it('is found by the id of JSON-RPC, where both sides ask with the same ids', () => {
    const rows = [
      rpc('>', { id: 1, method: 'add' }),
      rpc('<', { id: 1, method: 'ping' }),
      rpc('>', { id: 1, result: 'pong' }),
      rpc('<', { id: 1, error: { code: -1, message: 'no' } }),
      rpc('>', { method: 'notify' }),
      rpc('<', { id: '1', result: 'of nothing' }),
      wire('<', '{"jsonrpc":"2.0","id":1,"resu… [cut, 9000 characters]'),
    ];
    const found = exchanges(rows).map((texts) =>
      texts?.map((text) => rows.findIndex((row) => row.text === text)),
    );
    expect(found).toEqual([[0, 3], [1, 2], [1, 2], [0, 3], undefined, undefined, undefined]);
  });

  it('is found by the text of HTTP, and one that got none takes no later reply', () => {
    const rows = [
      http('>', 'GET http://x/a'),
      http('>', 'GET http://x/a'),
      http('<', '200 GET http://x/a'),
      http('>', 'GET http://x/b'),
      http('<', '404 GET http://x/b'),
      http('<', '500 GET http://x/c'),
      wire('>', 'GET http://x/d'),
    ];
    expect(exchanges(rows)).toEqual([
      ['GET http://x/a'],
      ['GET http://x/a', '200 GET http://x/a'],
      ['GET http://x/a', '200 GET http://x/a'],
      ['GET http://x/b', '404 GET http://x/b'],
      ['GET http://x/b', '404 GET http://x/b'],
      undefined,
      undefined,
    ]);
  });

  it('is found in rows that come, that are cut, and that are put before', () => {
    const [a, b] = [http('>', 'GET http://x/a'), http('<', '200 GET http://x/a')];
    const [c, d] = [http('>', 'GET http://x/c'), http('<', '200 GET http://x/c')];
    const pairs = new WirePairs();
    pairs.take([a], 0);
    expect(pairs.of(a)?.replies).toEqual([]);
    pairs.take([a, b], 0);
    expect(pairs.of(a)?.replies).toEqual([b]);
    // The oldest is cut, and more come.
    pairs.take([b, c], 1);
    pairs.take([b, c, d], 1);
    expect(pairs.of(d)?.request).toBe(c);
    // Rows put before: their numbers are smaller.
    const [e, f] = [http('>', 'GET http://x/e'), http('<', '200 GET http://x/e')];
    pairs.take([e, f, a, b, c, d], -2);
    expect([f, b, d].map((line) => pairs.of(line)?.request)).toEqual([e, a, c]);
    // Another window.
    pairs.take([d], 0);
    expect(pairs.of(d)).toBeUndefined();
  });
});

describe('a message', () => {
  it('is shown as the JSON in it', () => {
    expect(jsonOf('{"a":[1,2]}')).toBe('{\n  "a": [\n    1,\n    2\n  ]\n}');
    expect(jsonOf('Say [{"a":1}]')).toBe('Say\n[\n  {\n    "a": 1\n  }\n]');
    expect(jsonOf('[tcp] {"a":1}')).toBe('[tcp]\n{\n  "a": 1\n}');
    expect(jsonOf('Move{x="1"}')).toBeUndefined();
    expect(jsonOf('{"a": … [cut, 9000 characters]')).toBeUndefined();
  });

  it('is shown as bytes: those of its text, or those that it spells', () => {
    expect(hexOf('PING ü')).toBe('0000  50 49 4e 47 20 c3 bc                             PING ..');
    expect(hexOf('00 ff 41')).toBe('0000  00 ff 41                                         ..A');
    expect(hexOf('0x4142')).toBe(hexOf('41:42'));
    expect(
      hexOf('x'.repeat(17))
        .split('\n')
        .map((row) => row.slice(0, 8)),
    ).toEqual(['0000  78', '0010  78']);
  });
});

it('the part of a log is a term of its query, beside the others', () => {
  expect(withPart('level:warn "x y"', 'wire')).toBe('level:warn "x y" transport:tcp,http');
  expect(withPart('level:warn transport:tcp', 'log')).toBe('level:warn -transport:tcp,http');
  expect(withPart('-transport:tcp,http x', 'all')).toBe('x');
  expect(withPart('level:', 'wire')).toBe('level:');
  for (const part of ['all', 'log', 'wire'] as const) {
    expect(partIn(withPart('level:warn', part))).toBe(part);
  }
  expect(partIn('transport:http')).toBeUndefined();
});
