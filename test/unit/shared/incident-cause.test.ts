// Which incidents have one cause: messages and stacks as Node and Python write them, each with two that differ only by chance.

import { describe, expect, it } from 'vitest';
import type { Incident } from '../../../src/shared/contract/bots.js';
import { causeOf } from '../../../src/shared/incidents/cause.js';
import { normalStack } from '../../../src/shared/incidents/normal-stack.js';
import { normalText } from '../../../src/shared/incidents/normal-text.js';

describe('a message without what varies', () => {
  it.each([
    ['connect ECONNREFUSED 127.0.0.1:6667', 'connect ECONNREFUSED <address>'],
    ['connect ECONNREFUSED ::1:6667', 'connect ECONNREFUSED <address>'],
    ['connect ETIMEDOUT [2001:db8::7]:443', 'connect ETIMEDOUT <address>'],
    ['getaddrinfo ENOTFOUND irc-7.example.org', 'getaddrinfo ENOTFOUND <address>'],
    ['world-3.example.org:4000 closed the connection', '<address> closed the connection'],
    ['GET https://api.example.org/v1/users/42?key=abc failed', 'GET <url> failed'],
    ['Request failed with status code 503', 'Request failed with status code 503'],
    ['HTTP/1.1 429 after 12 requests', 'HTTP/1.1 429 after <n> requests'],
    ['[Errno 111] Connection refused', '[Errno 111] Connection refused'],
    ['program ended with exit code 137 after 12.5 s', 'program ended with exit code 137 after <n>'],
    ['player 42 is not in room 7 (took 1,204 ms)', 'player <n> is not in room <n> (took <n>)'],
    ['balance -12.75 is below 0', 'balance <n> is below <n>'],
    ['bad offset 0x7fff5fbff8c0', 'bad offset <id>'],
    ['order 6f1c9e0a-3b52-4b8e-9a58-0d7c5d1e2f33 is unknown', 'order <id> is unknown'],
    ['commit 9fceb02d0ae598e9 is unknown', 'commit <id> is unknown'],
    ['session aB3xK9pQz2 has expired', 'session <id> has expired'],
    ['no reply since 2026-11-24T14:02:31.120Z', 'no reply since <time>'],
    ['no reply since 14:02:31', 'no reply since <time>'],
    ['mail to ada.l+bots@example.org bounced', 'mail to <address> bounced'],
    ['no user "Grace \'Amazing\' Hopper"', 'no user <text>'],
    ["no user 'bob', and it can't be created", "no user <text>, and it can't be created"],
    [
      "Cannot read properties of undefined (reading 'gold')",
      "Cannot read properties of undefined (reading 'gold')",
    ],
    ["'NoneType' object has no attribute 'gold'", "<text> object has no attribute 'gold'"],
    ["ModuleNotFoundError: No module named 'irc'", "ModuleNotFoundError: No module named 'irc'"],
    ["KeyError: 'user-17'", 'KeyError: <text>'],
    [
      "ENOENT: no such file or directory, open '/var/lib/bots/bot-17/state.json'",
      'ENOENT: no such file or directory, open <text>',
    ],
    [
      'cannot write /var/lib/bots/bot-17/state-3.json: disk full',
      'cannot write <path>/state-<n>.json: disk full',
    ],
    [
      'cannot write C:\\bots\\17\\state.json: disk full',
      'cannot write <path>/state.json: disk full',
    ],
    ['lost rooms 3, 14, 15 and 92', 'lost rooms <n>… and <n>'],
    ['\u001b[31mfatal\u001b[0m:  two\n  lines', 'fatal: two lines'],
    ['plain words stay', 'plain words stay'],
  ])('%s', (message, normal) => {
    expect(normalText(message)).toBe(normal);
  });

  it('has no id of its bot, also one that is a word, and leaves words that contain it', () => {
    expect(normalText('alpha has no world; alphabet, alpha-2', 'alpha')).toBe(
      '<bot> has no world; alphabet, alpha-<n>',
    );
    expect(normalText('bot demo-17: stuck', 'demo-17')).toBe('bot <bot>: stuck');
  });

  it('is bounded, also for texts that a bot makes long on purpose', () => {
    for (const part of ['a.', '::', '/a', '"', '9', 'aB1', '<n>, ', '\ue000', 'a1-', 'status 5 ']) {
      expect(normalText(part.repeat(100_000)).length).toBeLessThanOrEqual(300);
    }
  });
});

const NODE = `TypeError: Cannot read properties of undefined (reading 'gold')
    at Player.sell (file:///srv/releases/2026-11-24/kinds/trader.js:88:31)
    at async Trader.step [as tick] (file:///srv/releases/2026-11-24/kinds/trader.js:41:5)
    at async Promise.all (index 3)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at async run (file:///srv/releases/2026-11-24/kinds/trader.js:12:3)`;
const PYTHON = `Traceback (most recent call last):
  File "/srv/bots/trader.py", line 20, in fetch
    return self.prices[name]
           ~~~~~~~~~~~^^^^^^
KeyError: 'gold'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/lib/python3.11/asyncio/runners.py", line 190, in run
    return runner.run(main)
  File "/srv/bots/trader.py", line 88, in <module>
    asyncio.run(main())
  File "/srv/bots/trader.py", line 41, in step
    await self.sell()
  File "/srv/venv/lib/python3.11/site-packages/market/client.py", line 12, in sell
    raise MarketError(name)
market.MarketError: no price for gold`;

describe('the frames of a stack', () => {
  it('of Node, without the platform', () => {
    expect(normalStack(NODE)).toEqual([
      'Player.sell in trader.js',
      'Trader.step in trader.js',
      'run in trader.js',
    ]);
  });

  it('of Python: of the exception that was thrown, innermost first', () => {
    expect(normalStack(PYTHON)).toEqual([
      'sell in client.py',
      'step in trader.py',
      '(top) in trader.py',
    ]);
  });

  it.each([
    ['    at /srv/kinds/a.cjs:3:9', ['(top) in a.cjs']],
    ['    at Object.<anonymous> (C:\\kinds\\a.js:3:9)', ['(top) in a.js']],
    ['    at new Room3 (file:///srv/kinds/a.js?t=17:3:9)', ['Room<n> in a.js']],
    ['\tat com.example.Bot.run(Bot.java:42)', ['com.example.Bot.run in Bot.java']],
    ['    at go (file:///srv/dist/service-DkX3f9aB.js:1:2)', ['go in service-<id>.js']],
    ['    at eval (eval at load (file:///srv/a.js:1:1), <anonymous>:1:7)', []],
    ['Error: at last', []],
    ['', []],
  ])('%s', (stack, frames) => {
    expect(normalStack(stack)).toEqual(frames);
  });

  it('of a recursion are few, from either end', () => {
    const deep = Array.from({ length: 20_000 }, () => '    at walk (file:///srv/a.js:3:5)');
    expect(
      normalStack(`RangeError: x\n${deep.join('\n')}\n    at run (file:///srv/a.js:1:1)`),
    ).toEqual(['walk in a.js', 'run in a.js']);
  });
});

describe('a cause', () => {
  const of = (found: Partial<Incident>): string =>
    causeOf({ type: 'crash', reason: 'it broke', suspect: 'a', stack: null, ...found }).cause;

  it('is the same for other bots, numbers, lines and directories', () => {
    expect(of({ suspect: 'b' })).toBe(of({}));
    const elsewhere = NODE.replaceAll('2026-11-24', '2026-12-01').replaceAll(':88:', ':91:');
    expect(of({ stack: elsewhere })).toBe(of({ stack: NODE }));
    const later = PYTHON.replaceAll('line 41', 'line 44').replaceAll('/srv/bots', '/opt/b');
    expect(of({ stack: later })).toBe(of({ stack: PYTHON }));
    expect(of({ reason: 'timeout after 31 ms' })).toBe(of({ reason: 'timeout after 7 ms' }));
  });

  it('differs by type, words, functions and files', () => {
    const causes = [
      of({}),
      of({ type: 'failed' }),
      of({ reason: 'it bent' }),
      of({ stack: NODE }),
      of({ stack: NODE.replace('Player.sell', 'Player.buy') }),
      of({ stack: NODE.replaceAll('trader.js', 'miner.js') }),
      of({ stack: PYTHON }),
    ];
    expect(new Set(causes).size).toBe(causes.length);
    for (const cause of causes) expect(cause).toMatch(/^[0-9a-f]{16}$/);
  });

  it('has words for people', () => {
    expect(
      causeOf({
        type: 'crash',
        reason: "trader-7: Cannot read properties of undefined (reading 'gold')",
        suspect: 'trader-7',
        stack: NODE,
      }),
    ).toMatchObject({
      title: "<bot>: Cannot read properties of undefined (reading 'gold')",
      where: 'Player.sell in trader.js',
    });
  });

  it('of a host that hangs does not depend on where its loop was, nor on which bot was suspected', () => {
    const frame = (name: string, url: string) => ({ function: name, url, line: 1, column: 1 });
    const outer = [frame('run', 'file:///srv/kinds/demo.js'), frame('go', 'file:///srv/host.js')];
    const hang = (inner: string, host: number, bot: string): string =>
      of({
        type: 'hang',
        reason: `bot host ${host} was blocked for ${5000 + host} ms in bot ${bot}`,
        suspect: bot,
        stack: [frame(inner, 'file:///srv/kinds/demo.js'), ...outer],
      });
    expect(hang('walk', 3, 'x')).toBe(hang('think', 4, 'y'));
    const lost = (host: number, whose: string): string =>
      of({
        type: 'out_of_memory',
        reason: `bot host ${host} was lost: Worker terminated due to reaching memory limit: JS heap out of memory${whose}`,
      });
    const texts = [
      '; bot x was alone there',
      '; the code of bot y ran last there',
      '; which bot caused it is not known',
      '; which bot caused it is not known, and 12 bots that were on such a host before are quarantined',
    ];
    expect(new Set(texts.map((text, at) => lost(at, text))).size).toBe(1);
  });
});
