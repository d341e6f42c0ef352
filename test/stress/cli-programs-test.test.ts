// `drover kinds test` on programs of protocol jsonl: a good one, and what it says of each that does something wrong.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { expectFailure, runCli } from '../harness/cli.js';
import { docBlock } from '../harness/docs.js';
import { makeDir, removeDir } from '../harness/service.js';

const MISFIT = fileURLToPath(new URL('../fixtures/programs/misfit.py', import.meta.url));
/** Longer than any program needs: only what never happens takes as long. */
const PATIENT = {
  DROVER_INVOKE_TIMEOUT_MS: '30000',
  DROVER_HOSTS_STOP_GRACE_MS: '60000',
};
/** For programs that do not answer a request after others that they have answered, which takes them no time. */
const ANSWERS = { ...PATIENT, DROVER_INVOKE_TIMEOUT_MS: '3000' };
const STOPS = { ...PATIENT, DROVER_HOSTS_STOP_GRACE_MS: '200' };
const BRIEF = ['--for', '1ms'];
const GARBAGE = 'a line on standard output is not JSON (print to standard error, or send log)';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

const test = (args: string[], env: Record<string, string> = PATIENT) =>
  runCli(home, ['kinds', 'test', ...BRIEF, ...args], { env });
const misfit = (fault: string, env = PATIENT) =>
  test(['--invoke', 'double={"n":21}', '--', 'python3', MISFIT, fault], env);

it('a good program follows the protocol', async () => {
  const { code, stdout, stderr } = await misfit('none');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.replace(/after \d\S*/, 'after 1ms')).toBe(
    `it has answered initialize; its commands: double
double 42
its last status was stopped, its data {}
stopped after 1ms
nothing is left behind
it follows protocol jsonl, version 1
`,
  );
});

it('a program whose work is done may end', async () => {
  const { code, stdout, stderr } = await test(['--', 'python3', MISFIT, 'done']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^its run has ended by itself, with code 0$/m);
});

/** Each fault, and the lines on standard error. */
const FAULTS: [fault: string, told: string[], env?: typeof PATIENT][] = [
  [
    'dies',
    [
      'it ended with code 1 before it answered initialize; its last line: there is no configuration',
    ],
  ],
  [
    'starts_with_error',
    [
      'it ended with code 1 before it answered initialize; its last line: RuntimeError: no module of this name',
    ],
  ],
  ['crashes', ['it was ended by SIGSEGV before it answered initialize']],
  ['never_answers', ['it has not answered initialize within 10s']],
  ['refuses', ['it refuses initialize: the protocol must be 7']],
  [
    'both',
    [
      'its answer to initialize must have only one of result and error: "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"result\\": {}, \\"error\\": {\\"code\\": 1, \\"message\\": \\"\\"}}"',
    ],
  ],
  [
    'odd_error',
    [
      'its answer to initialize has an error without a code (integer) and a message (string): "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"error\\": \\"no\\"}"',
    ],
  ],
  ['result_is_list', ['its answer to initialize: result must be object']],
  [
    'bad_schema',
    [
      'its answer to initialize: result.commands.double.args: schema is invalid: data/properties must be object',
    ],
  ],
  [
    'wrong_id',
    [
      'it answers the id 1001, which no request has: "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1001, \\"result\\": {}}"',
    ],
  ],
  [
    'text_id',
    [
      'it answers the id "1", which no request has: "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": \\"1\\", \\"result\\": {}}"',
    ],
  ],
  [
    'twice',
    [
      'it answers initialize twice: "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"result\\": {\\"commands\\": {\\"double\\": {\\"description\\": \\"Doubles.\\", \\"args\\": {\\"…"',
    ],
  ],
  ['garbage', [`${GARBAGE}: "Hello, I am a bot!"`]],
  ['flood', [...Array(5).fill(`${GARBAGE}: "garbage"`), '995 more faults']],
  [
    'not_utf8',
    [
      'a line on standard output is not UTF-8: "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"log\\",\\"params\\":{\\"level\\":\\"info\\",\\"message\\":\\"gr\ufffd\ufffde\\"}}"',
    ],
  ],
  ['long_line', [`a line on standard output has more than 1048576 bytes: "\\"${'x'.repeat(99)}…"`]],
  ['no_object', ['a line on standard output is not a JSON object: "[1]"']],
  [
    'no_version',
    [
      'a line on standard output has no "jsonrpc":"2.0": "{\\"method\\":\\"status\\",\\"params\\":{\\"status\\":\\"on\\"}}"',
    ],
  ],
  [
    'half_line',
    [
      'its last line on standard output has no end: "{\\"jsonrpc\\":\\"2.0\\",\\"meth"',
      'double: the program ended before it answered',
    ],
  ],
  ['bad_level', ['its notification log: params.level must be one of info, warn, error, state']],
  ['unknown_notification', ['it sends the notification "logs", which no host knows']],
  ['any_method', ['it answers an unknown method, with a result: the error -32601 is expected']],
  ['other_code', ['it answers an unknown method, with the error -32000: -32601 is expected']],
  ['any_command', ['it answers an unknown command, with a result: an error is expected']],
  [
    'any_args',
    [
      'it answers double with the arguments {}, which its schema refuses, with a result: an error is expected',
    ],
  ],
  [
    'no_crlf',
    [
      'double: the program ended before it answered',
      'it ended with code 1 after a request in two writes that ends with CR and LF; its last line: cannot read CRLF',
    ],
  ],
  [
    'ascii',
    [
      'double: the program ended before it answered',
      "it ended with code 1 after an unknown method and an unknown command in one write; its last line: UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3 in position 83: ordinal not in range(128)",
    ],
  ],
  [
    'cancel_ends',
    [
      'double: the program ended before it answered',
      'it ended with code 1 after a cancel of a request that was answered before; its last line: what is cancel?',
    ],
  ],
  ['never_answers_command', ['double: no answer within 3s; cancelled'], ANSWERS],
  [
    'silent',
    [
      'it has not answered an unknown method within 3s',
      'it answers nothing after a cancel of a request that was answered before: nobody could stop or cancel anything',
      'it answers nothing after double, before the answer: nobody could stop or cancel anything',
      'it answers nothing after its commands: nobody could stop or cancel anything',
    ],
    ANSWERS,
  ],
  [
    'blocks',
    [
      'it answers nothing after double, before the answer: nobody could stop or cancel anything',
      'double: no answer within 3s; cancelled',
      'it answers nothing after its commands: nobody could stop or cancel anything',
      'it does not stop: it still runs 100ms after stop, when a service sends SIGTERM',
    ],
    { ...STOPS, DROVER_INVOKE_TIMEOUT_MS: '3000' },
  ],
  ['stop_code', ['it ended with code 3 after stop, where code 0 is expected']],
  [
    'ignores_stop',
    ['it does not stop: it still runs 100ms after stop, when a service sends SIGTERM'],
    STOPS,
  ],
  [
    'ignores_term',
    [
      'it does not stop: it still runs 100ms after stop, when a service sends SIGTERM',
      'it ignores SIGTERM: it still runs after 100ms more',
    ],
    STOPS,
  ],
  ['child', ['1 process is left behind; end what the program starts before it ends']],
  ['escaped_child', ['a process that has left its process group still has its standard output']],
];

describe('what a program does wrong is said in plain words', () => {
  it.each(FAULTS)('%s', async (fault, told, env) => {
    const { code, stderr } = await misfit(fault, env);
    expect(stderr).toBe(told.map((line) => `drover: ${line}\n`).join(''));
    expect(code).toBe(EXIT.failed);
  });

  it('unknown_service', async () => {
    const { code, stderr } = await misfit('unknown_service');
    // The program takes the answer for a request.
    expect(stderr).toMatch(/^drover: it calls "connect", which no host provides\n/);
    expect(code).toBe(EXIT.failed);
  });

  it('--json is a report', async () => {
    const { code, stdout } = await test(['--json', '--', 'python3', MISFIT, 'child']);
    expect(code).toBe(EXIT.failed);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: `python3 ${MISFIT} child`,
      error: '1 process is left behind; end what the program starts before it ends',
      stopped: true,
      left_behind: [{ what: 'process sleep', at: null, pid: expect.any(Number) }],
    });
  });
});

describe('what is tested', () => {
  it('is a file in Python, an executable, or a manifest', async () => {
    const good = `import sys\nsys.argv.append("none")\nexec(open(${JSON.stringify(MISFIT)}).read())`;
    const python = path.join(home, 'good.py');
    writeFileSync(python, good);
    const executable = path.join(home, 'good');
    writeFileSync(executable, `#!/bin/sh\nexec python3 ${python}\n`);
    chmodSync(executable, 0o755);
    mkdirSync(path.join(home, 'bots'));
    const manifest = path.join(home, 'bots/good.program.json');
    const config = { type: 'object', required: ['host'], properties: { host: { type: 'string' } } };
    const command = ['python3', '../good.py'];
    writeFileSync(manifest, JSON.stringify({ command, protocol: 'jsonl', config }));
    for (const file of [python, executable]) {
      const { code, stderr } = await test([file]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
    expectFailure(await test([manifest]), EXIT.usage, /config\.host is missing/);
    expect(await test([manifest, '--config', '{"host":"x"}'])).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  it('is refused in one line when it cannot be started', async () => {
    const plain = path.join(home, 'plain');
    writeFileSync(plain, '');
    expectFailure(await test(['nowhere.py']), EXIT.usage, /there is no file \S+nowhere\.py/);
    expectFailure(
      await test(['--', 'no-such-program']),
      EXIT.usage,
      /cannot start no-such-program: there is no such program/,
    );
    expectFailure(
      await test([plain]),
      EXIT.usage,
      /plain is not executable: chmod \+x it, or name what runs it/,
    );
    expectFailure(await test([home, 'x']), EXIT.usage, /is a directory: name a file/);
    const manifests: [text: string, says: RegExp][] = [
      ['{', /bad\.program\.json: it is not valid JSON/],
      ['{"command":"python3 bot.py","protocol":"jsonl"}', /command must be array/],
      ['{"command":["a"]}', /protocol is missing/],
      [
        '{"command":["a"],"protocol":"raw"}',
        /only programs of protocol jsonl can be tested, not raw/,
      ],
    ];
    const bad = path.join(home, 'bad.program.json');
    for (const [text, says] of manifests) {
      writeFileSync(bad, text);
      expectFailure(await test([bad]), EXIT.usage, says);
    }
  });
});

it('the bot of docs/STDIO.md without an SDK follows the protocol', async () => {
  const file = path.join(home, 'counter.py');
  writeFileSync(file, docBlock('docs/STDIO.md', 'import json'));
  const { code, stdout, stderr } = await test([file, '--invoke', 'add={"by":2}']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^add 2$/m);
});
