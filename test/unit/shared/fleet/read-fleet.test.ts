// What a fleet file may say, and where each fault of it is.

import { describe, expect, it } from 'vitest';
import { FleetFault } from '../../../../src/shared/fleet/located.js';
import { type Fleet, readFleet } from '../../../../src/shared/fleet/read-fleet.js';
import type { ReferenceSource } from '../../../../src/shared/fleet/references.js';

const SOURCE: ReferenceSource = {
  variable: (name) => (name === 'PASSWORD' ? 'hunter2' : undefined),
  file: (path) => (path.startsWith('keys/') ? `text of ${path}` : undefined),
};

const read = (text: string): Promise<Fleet> => readFleet(text, 'f.yaml', SOURCE);

async function faultsOf(text: string): Promise<readonly string[]> {
  const thrown = await read(text).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof FleetFault)) throw thrown ?? new Error('the file has no fault');
  return thrown.faults;
}

const ids = ({ bots }: Fleet): string[] => bots.map(({ id }) => id);
/** A file with these entries, the first of which begins in line 3. */
const withBots = (entries: string): string => `name: web\nbots:\n${entries}`;
const entry = (fields: string): string => withBots(`  - {id: a, kind: k, ${fields}}\n`);

describe('a fault has its line and column', () => {
  it.each<[what: string, text: string, fault: string]>([
    ['an empty file', '', 'f.yaml:1:1: the file is empty: a fleet has name and bots'],
    ['only a comment', '# later\n', 'f.yaml:1:1: the file is empty: a fleet has name and bots'],
    ['a list', '- a\n', 'f.yaml:1:1: the file must be object'],
    ['a missing name', 'bots: []\n', 'f.yaml:1:1: name is missing'],
    ['an unknown key', 'name: web\nbot: []\nbots: []\n', 'f.yaml:2:1: unknown key bot'],
    [
      'an unknown key of a bot',
      withBots('  - id: a\n    kind: k\n    colour: red\n'),
      'f.yaml:5:5: unknown key bots[0].colour',
    ],
    [
      'a key twice',
      withBots('  - id: a\n    kind: k\n    id: b\n'),
      'f.yaml:5:5: the key "id" is here twice',
    ],
    [
      'a key twice in JSON',
      '{"name": "web",\n "bots": [],\n "bots": []}',
      'f.yaml:3:2: the key "bots" is here twice',
    ],
    [
      'a tab as indentation',
      'name: web\nbots:\n\t- id: a\n',
      'f.yaml:3:1: tabs are not allowed as indentation',
    ],
    [
      'a tab after CRLF',
      'name: web\r\nbots:\r\n\t- id: a\r\n',
      'f.yaml:3:1: tabs are not allowed as indentation',
    ],
    [
      'two documents',
      'name: web\nbots: []\n---\nname: x\n',
      'f.yaml:3:1: a second document (---): write one',
    ],
    [
      'another version of YAML',
      '%YAML 1.1\n---\nname: web\nbots: []\n',
      'f.yaml:1:1: YAML 1.1: only YAML 1.2 is read',
    ],
    ['an unknown tag', 'name: !x web\nbots: []\n', 'f.yaml:1:7: unresolved tag: !x'],
    [
      'an alias without an anchor',
      'name: *x\nbots: []\n',
      'f.yaml:1:7: there is no anchor &x before this alias',
    ],
    [
      'an alias in its anchor',
      'name: web\nbots: &b [*b]\n',
      'f.yaml:2:11: the alias *b is in its anchor',
    ],
    [
      'a merge key',
      withBots('  - <<: {kind: k}\n    id: a\n'),
      'f.yaml:3:5: merge keys (<<) are not read: use templates and extends',
    ],
    [
      'the key __proto__',
      entry('config: {__proto__: 1}'),
      'f.yaml:3:31: the key "__proto__" is not allowed',
    ],
    [
      'a number as a key',
      entry('config: {1: 2}'),
      'f.yaml:3:31: a key must be a text: write it in quotes',
    ],
    [
      'a number as an id',
      withBots('  - id: 42\n    kind: k\n'),
      'f.yaml:3:9: bots[0].id must be string; for a text write it in quotes: "42"',
    ],
    [
      'a version as a label',
      entry('labels: {v: 1.10}'),
      'f.yaml:3:34: bots[0].labels.v must be string or null; for a text write it in quotes: "1.10"',
    ],
    [
      'yes as a truth value',
      entry('dedicated: yes'),
      'f.yaml:3:33: bots[0].dedicated must be boolean; in YAML 1.2 yes is a text: write true or false',
    ],
    [
      'a number that is not exact',
      entry('config: {n: 12345678901234567890}'),
      'f.yaml:3:34: a number that is not exact: for a text write it in quotes',
    ],
    [
      'a number without end',
      entry('config: {n: .inf}'),
      'f.yaml:3:34: only numbers, texts, true, false and null are read',
    ],
    [
      'half of a character',
      '{"name": "web", "bots": [{"id": "a", "kind": "k", "config": {"t": "\\ud800"}}]}',
      'f.yaml:1:67: half of a character',
    ],
    [
      'an id beyond ASCII',
      withBots('  - id: größe\n    kind: k\n'),
      'f.yaml:3:9: bot größe: id must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or digit',
    ],
    [
      'two bots of one id',
      withBots('  - {id: a, kind: k}\n  - {id: b, kind: k}\n  - {id: a, kind: k}\n'),
      'f.yaml:5:5: bot a is at f.yaml:3:5 already',
    ],
    [
      'an id that a count makes again',
      withBots('  - {id: "a-{n}", kind: k, count: 2}\n  - {id: a-2, kind: k}\n'),
      'f.yaml:4:5: bot a-2 is at f.yaml:3:5 already',
    ],
    [
      'a count without {n}',
      withBots('  - id: a\n    count: 2\n    kind: k\n'),
      'f.yaml:3:9: the id of a bot with count must have {n}, such as a-{n}',
    ],
    [
      '{n} without a count',
      withBots('  - kind: k\n    id: "a-{n}"\n'),
      'f.yaml:4:9: an id with {n} needs count',
    ],
    [
      'a count of 1e9',
      withBots('  - id: "a-{n}"\n    count: 1e9\n    kind: k\n'),
      'f.yaml:4:12: bots[0].count must be <= 10000',
    ],
    [
      'a count of 1.5',
      withBots('  - id: "a-{n}"\n    count: 1.5\n    kind: k\n'),
      'f.yaml:4:12: bots[0].count must be integer',
    ],
    [
      'a negative count',
      withBots('  - id: "a-{n}"\n    count: -1\n    kind: k\n'),
      'f.yaml:4:12: bots[0].count must be >= 0',
    ],
    [
      'more bots than a fleet may have',
      withBots(
        '  - {id: "a-{n}", kind: k, count: 9999}\n  - {id: b, kind: k}\n  - {id: c, kind: k}\n',
      ),
      'f.yaml:5:5: more than 10000 bots',
    ],
    [
      'no kind',
      withBots('  - id: a\n'),
      'f.yaml:3:5: the bot has no kind: give kind, or a template that has one',
    ],
    [
      'an unknown template',
      'name: web\ntemplates: {t: {kind: k}}\nbots:\n  - id: a\n    template: u\n',
      'f.yaml:5:15: no template "u"; there are: t',
    ],
    [
      'a template that extends an unknown one',
      'name: web\ntemplates:\n  t: {extends: u}\nbots: [{id: a, template: t}]\n',
      'f.yaml:3:16: no template "u"; there are: t',
    ],
    [
      'templates in a circle',
      'name: web\ntemplates:\n  a: {extends: b}\n  b: {extends: c}\n  c: {extends: a}\nbots: [{id: x, template: b}]\n',
      'f.yaml:5:16: templates extend each other in a circle: a -> b -> c -> a',
    ],
    [
      'a template that extends itself',
      'name: web\ntemplates:\n  a: {extends: a}\nbots: []\n',
      'f.yaml:3:16: templates extend each other in a circle: a -> a',
    ],
    [
      'a missing variable',
      withBots('  - id: a\n    kind: k\n    config:\n      password: { $env: NOPE }\n'),
      'f.yaml:6:17: the variable NOPE is not set',
    ],
    [
      'a missing file',
      entry('config: {password: {$file: nope.txt}}'),
      'f.yaml:3:41: the file nope.txt cannot be read, or is not a text of at most 64 KiB',
    ],
    [
      'a named secret',
      entry('config: {password: {$secret: irc}}'),
      'f.yaml:3:41: $secret is not available in this version: use $env or $file',
    ],
    [
      'a reference with another key',
      entry('config: {password: {$env: PASSWORD, default: x}}'),
      'f.yaml:3:41: an object with $env has no other key',
    ],
    [
      'a reference that is no text',
      entry('config: {password: {$env: 1}}'),
      'f.yaml:3:41: $env must be a text',
    ],
    [
      'a label that a bot may not have',
      withBots('  - id: "a-{n}"\n    count: 2\n    kind: k\n    labels:\n      "é": x\n'),
      'f.yaml:7:7: bot a-1: unknown key labels.é',
    ],
    [
      'too deep a value',
      `name: web\nbots: ${'['.repeat(70)}${']'.repeat(70)}\n`,
      'f.yaml:2:71: nested more than 64 levels deep',
    ],
    [
      'templates in a long chain',
      `name: web\nbots: []\ntemplates:\n${Array.from({ length: 40 }, (_, n) => `  t${n}: {extends: t${n + 1}}\n`).join('')}  t40: {}\n`,
      'f.yaml:36:18: more than 32 templates extend each other',
    ],
  ])('%s', async (_, text, fault) => {
    expect(await faultsOf(text)).toEqual([fault]);
  });

  it('after a byte order mark, and with CRLF, lines and columns are those of an editor', async () => {
    const text = withBots('  - {id: a, kind: k}\n  - {id: a, kind: k}\n');
    const fault = ['f.yaml:4:5: bot a is at f.yaml:3:5 already'];
    expect(await faultsOf(`\ufeff${text}`)).toEqual(fault);
    expect(await faultsOf(text.replaceAll('\n', '\r\n'))).toEqual(fault);
    expect(await faultsOf('\ufeff- a\n')).toEqual(['f.yaml:1:1: the file must be object']);
  });

  it('all faults of a file are told at once, in the order of the file', async () => {
    const text = withBots(
      '  - {id: a, kind: k, x: 1}\n  - {id: 2, kind: k}\n  - {kind: k}\n  - {id: b, y: 1}\n',
    );
    expect(await faultsOf(text)).toEqual([
      'f.yaml:3:22: unknown key bots[0].x',
      'f.yaml:4:10: bots[1].id must be string; for a text write it in quotes: "2"',
      'f.yaml:5:5: bots[2].id is missing',
      'f.yaml:6:13: unknown key bots[3].y',
    ]);
    const many = withBots('  - {id: 1, kind: k}\n'.repeat(100));
    expect(await faultsOf(many)).toHaveLength(20);
  });

  it('a fault of a template that many bots have is told once', async () => {
    const text =
      'name: web\ntemplates:\n  t: {kind: k, config: {p: {$env: NOPE}}}\nbots:\n' +
      '  - {id: a, template: t}\n  - {id: b, template: t}\n';
    expect(await faultsOf(text)).toEqual(['f.yaml:3:28: the variable NOPE is not set']);
  });

  it.each<[what: string, text: string]>([
    ['lists in brackets', '['.repeat(100_000)],
    ['objects in braces', '{a: '.repeat(100_000)],
    ['lists in one line', '- '.repeat(100_000)],
    ['keys in one line', '? '.repeat(100_000)],
    [
      'levels of indentation',
      Array.from({ length: 2000 }, (_, n) => `${' '.repeat(n)}a:\n`).join(''),
    ],
  ])('%s without end are refused before the parser runs out of memory', async (_, text) => {
    expect(await faultsOf(text)).toEqual([
      expect.stringMatching(/^f\.yaml:\d+:\d+: nested more than 64 levels deep$/),
    ]);
  });

  it('64 levels are no fault', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{a: ', '}'],
    ] as const) {
      const value = `${open.repeat(60)}1${close.repeat(60)}`;
      expect((await read(entry(`config: {a: ${value}}`))).bots).toHaveLength(1);
    }
    // Each of these lines is two levels.
    const lines = Array.from({ length: 28 }, (_, n) => `${' '.repeat(8 + 2 * n)}- a:\n`);
    const block = withBots(`  - id: a\n    kind: k\n    config:\n      x:\n${lines.join('')}`);
    expect((await read(block)).bots).toHaveLength(1);
  });

  it('aliases that repeat each other are refused before they fill the memory', async () => {
    const lines = Array.from({ length: 10 }, (_, n) => {
      const items = Array.from({ length: 9 }, () => (n === 0 ? 'x' : `*a${n - 1}`));
      return `      a${n}: &a${n} [${items.join(', ')}]\n`;
    });
    const text = withBots(`  - id: a\n    kind: k\n    config:\n${lines.join('')}`);
    const [fault, ...others] = await faultsOf(text);
    expect(fault).toMatch(/^f\.yaml:\d+:\d+: more than 1000000 values, with those that aliases/);
    expect(others).toEqual([]);
  });
});

describe('the bots of a file', () => {
  it('have defaults of their kind, then of templates, then their own', async () => {
    const { bots } = await read(`
name: web
kinds:
  irc:
    config: { port: 6667, tls: { verify: true } }
    labels: { kind: irc }
    restart: { max_restarts: 3, policy: always }
  other:
    labels: { kind: other }
templates:
  base:
    kind: irc
    config: { host: a, tls: { ca: x } }
    labels: { team: a, old: x }
    restart: { max_restarts: null }
    host_group: g
  shop:
    extends: base
    config: { host: b, channels: [a, b] }
    labels: { old: null }
bots:
  - id: one
    template: shop
    config: { tls: { ca: null }, channels: [c] }
    labels: { team: b }
    host_group: null
  - id: two
    kind: other
`);
    expect(bots).toEqual([
      {
        id: 'one',
        kind: 'irc',
        config: { port: 6667, tls: { verify: true }, host: 'b', channels: ['c'] },
        labels: { kind: 'irc', team: 'b' },
        restart: { max_restarts: null, policy: 'always' },
        dedicated: false,
        desired: 'running',
      },
      {
        id: 'two',
        kind: 'other',
        config: {},
        labels: { kind: 'other' },
        dedicated: false,
        desired: 'running',
      },
    ]);
  });

  it('a bot may have another kind than its template, and then the defaults of that one', async () => {
    const { bots } = await read(
      'name: w\nkinds: {b: {labels: {of: b}}, a: {labels: {of: a}}}\ntemplates: {t: {kind: a}}\n' +
        'bots: [{id: x, template: t, kind: b}, {id: y, template: t}]\n',
    );
    expect(bots.map(({ labels }) => labels['of'])).toEqual(['b', 'a']);
  });

  it('count makes several, with their number in all texts', async () => {
    const { bots } = await read(`
name: web
templates:
  t: { kind: k, config: { nick: "bot {n} of {n}", at: ["{n}", 1, true] } }
bots:
  - { id: "a-{n}", count: 2, template: t, labels: { n: "{n:3}" } }
  - { id: "b-{n:2}", count: 0, template: t }
  - { id: plain, kind: k, config: { text: "{n}" } }
`);
    expect(bots.map(({ id, config, labels }) => [id, config, labels])).toEqual([
      ['a-1', { nick: 'bot 1 of 1', at: ['1', 1, true] }, { n: '001' }],
      ['a-2', { nick: 'bot 2 of 2', at: ['2', 1, true] }, { n: '002' }],
      ['plain', { text: '{n}' }, {}],
    ]);
    const padded = await read(withBots('  - {id: "b-{n:2}", count: 11, kind: k}\n'));
    expect(ids(padded).slice(8)).toEqual(['b-09', 'b-10', 'b-11']);
  });

  it('references are replaced as a whole, anywhere in a configuration', async () => {
    const { bots } = await read(`
name: web
templates:
  t: { kind: k, config: { sasl: { password: { $file: keys/common } } } }
bots:
  - id: "a-{n}"
    count: 2
    template: t
    config: { list: [{ token: { $env: PASSWORD } }], key: { $file: "keys/{n}" } }
  - { id: b, template: t, config: { sasl: { password: { $env: PASSWORD } } } }
  - { id: c, template: t, config: { sasl: { password: { plain: x } } } }
`);
    expect(bots.map(({ config }) => config)).toEqual([
      {
        sasl: { password: 'text of keys/common' },
        list: [{ token: 'hunter2' }],
        key: 'text of keys/1',
      },
      {
        sasl: { password: 'text of keys/common' },
        list: [{ token: 'hunter2' }],
        key: 'text of keys/2',
      },
      { sasl: { password: 'hunter2' } },
      { sasl: { password: { plain: 'x' } } },
    ]);
  });

  it('a null that removes nothing is a value', async () => {
    const { bots } = await read(entry('config: {a: null, b: {c: null}}'));
    expect(bots[0]?.config).toEqual({ a: null, b: { c: null } });
  });

  it('dates and old truth values are texts, aliases are repeated', async () => {
    const { bots } = await read(
      withBots(
        '  - {id: a, kind: k, config: &c {day: 2024-01-01, on: yes, time: 12:30:00}}\n' +
          '  - {id: b, kind: k, config: *c}\n',
      ),
    );
    const config = { day: '2024-01-01', on: 'yes', time: '12:30:00' };
    expect(bots.map((bot) => bot.config)).toEqual([config, config]);
  });

  it('JSON, with tabs, is read too', async () => {
    const fleet = { name: 'web', bots: [{ id: 'a', kind: 'k', labels: { '<<': 'x' } }] };
    const text = JSON.stringify(fleet, null, '\t').replace('"<<"', '"a/b"');
    expect(await read(text)).toMatchObject({ name: 'web', bots: [{ id: 'a' }] });
  });

  it('ten thousand bots, as entries and by count', async () => {
    const entries = Array.from({ length: 10_000 }, (_, n) => `  - {id: b-${n}, kind: k}\n`);
    const listed = await read(withBots(entries.join('')));
    expect(listed.bots).toHaveLength(10_000);
    expect(listed.placeOf('b-9999')).toBe('f.yaml:10002:5');
    expect(listed.placeOf('unknown')).toBe('f.yaml');
    const counted = await read(withBots('  - {id: "b-{n:5}", count: 10000, kind: k}\n'));
    expect(new Set(ids(counted)).size).toBe(10_000);
    expect(ids(counted).at(-1)).toBe('b-10000');
  });
});
