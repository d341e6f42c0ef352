import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import type { RunState } from '../../../src/kinds/program/session.js';
import type { ProgramDefinition } from '../../../src/shared/contract/programs.js';
import { endOf, python, startProgram, until } from './programs.js';

/** A program that runs these lines after it was initialized; `send` and `ask` speak JSON-RPC. */
function program(lines: string, result = '{}', more: Partial<ProgramDefinition> = {}) {
  const code = `
import json, os, sys, time
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def read(): return json.loads(sys.stdin.readline())
first = read()
send(id=first["id"], result=${result})
${lines}`;
  return { command: python(code), protocol: 'jsonl' as const, ...more };
}

const COMMANDS =
  '{"commands": {"say": {"args": {"type": "object", "properties": {"text": {"type": "string", "default": "hi"}}}}}}';

it('is a bot in Python without an SDK', async () => {
  const bot = await startProgram(
    {
      command: ['python3', 'counter.py'],
      protocol: 'jsonl',
      config: {
        properties: {
          start: { type: 'integer', default: 5 },
          key: { type: 'string', writeOnly: true },
        },
      },
    },
    { config: { key: 'my-long-secret' }, graceMs: 60_000 },
  );
  await until(bot, () => bot.status === 'counting');
  expect(bot.messages('info')[0]).toMatch(
    /^my config is {"key": "(?!my-long-secret).*", "start": 5}$/,
  );
  expect(await bot.invoke('count')).toBe(6);
  expect(await bot.invoke('count', { by: 10 })).toBe(16);
  await expect(bot.invoke('count', { by: 'ten' })).rejects.toThrow(/by/);
  await expect(bot.invoke('boom')).rejects.toThrow(/^that was too much \(code 7\)$/);
  await expect(bot.invoke('other')).rejects.toThrow(/no command "other".*count, boom/);
  expect(bot.data).toEqual({ count: 16 });
  expect(bot.lines.filter(({ transport }) => transport === 'tcp')).toMatchObject([
    { direction: 'outgoing', message: 'COUNT 6' },
    { direction: 'outgoing', message: 'COUNT 16' },
  ]);
  await bot.stop(60_000);
  expect(bot.messages('state')).toContain('good bye');
  expect(bot.end?.error).toBeNull();
});

it('answers out of order, and is told what nobody waits for', async () => {
  const bot = await startProgram(
    program(
      `
one, two = read(), read()
send(id=two["id"], result="two")
send(method="log", params={"level": "info", "message": "waits"})
cancel = read()
send(id=cancel["params"]["id"], result="late")
send(method="log", params={"level": "info", "message": json.dumps([cancel, one["id"]])})
send(id=read()["id"], result=None)
read()`,
      '{"commands": {"go": {}}}',
    ),
  );
  await until(bot, () => bot.status === 'running');
  // Its first caller goes away.
  const { session } = bot.context.state as RunState;
  const abort = new AbortController();
  const first = session?.call('go', {}, { signal: abort.signal });
  expect(await bot.invoke('go')).toBe('two');
  await until(bot, () => bot.messages('info').includes('waits'));
  abort.abort();
  await until(bot, () => bot.messages('info').length === 2);
  expect(await Promise.race([first, 'pending'])).toBe('pending');
  const [cancel, id] = JSON.parse(bot.messages('info')[1] as string);
  expect(cancel).toEqual({ jsonrpc: '2.0', method: 'cancel', params: { id } });
  expect(await bot.invoke('go')).toBeNull();
});

it('fetches as bots do', async () => {
  const server = createServer((request, response) => {
    response.setHeader('x-method', request.method ?? '');
    request.pipe(response);
  });
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/a?token=abcdefgh`;
  const bot = await startProgram(
    program(`
def ask(id, **params):
  send(id=id, method="fetch", params=params)
  return read()
a = ask(1, url="${url}", method="POST", headers={"content-type": "text/plain"}, body="hello")
b = ask("b", url="http://127.0.0.2:1/")
c = ask(3, url=5)
d = ask(4, url="${url}", hedaers={})
send(id=5, method="connect", params={})
e = read()
answers = [a["result"]["status"], a["result"]["body"], a["result"]["headers"]["x-method"], b["id"], b["error"], c["error"], d["error"], e["error"]]
send(method="data", params={"patch": {"answers": answers}})
sys.stdin.readline()`),
    { allow: ['127.0.0.1'] },
  );
  await until(bot, () => bot.data['answers'] !== undefined);
  expect(bot.data['answers']).toEqual([
    200,
    'hello',
    'POST',
    'b',
    { code: -32_000, message: 'network.allow does not list 127.0.0.2:1' },
    { code: -32_602, message: 'url must be a string, not number' },
    {
      code: -32_602,
      message: 'there is no param hedaers; there are url, method, headers, body, scope, timeout_ms',
    },
    { code: -32_601, message: 'there is no method "connect"; there is fetch' },
  ]);
  const wire = bot.lines.filter(({ transport }) => transport === 'http');
  expect(wire.map(({ direction }) => direction)).toEqual(['outgoing', 'incoming']);
  expect(bot.messages('warn')).toEqual([
    "the program's fetch was refused: url must be a string, not number",
    "the program's fetch was refused: there is no param hedaers; there are url, method, headers, body, scope, timeout_ms",
  ]);
});

it('pairs the messages of a program by the correlation id that it gives', async () => {
  const bot = await startProgram(
    program(`
ask = {"transport": "tcp", "direction": "outgoing", "message": "ask"}
send(method="wire", params={**ask, "correlation_id": "7"})
send(method="wire", params={**ask, "correlation_id": 7})
send(method="wire", params=ask)
sys.stdin.readline()`),
  );
  await until(bot, () => bot.lines.filter(({ transport }) => transport === 'tcp').length === 2);
  const wire = bot.lines.filter(({ transport }) => transport === 'tcp');
  expect(wire.map(({ correlationId }) => correlationId)).toEqual(['7', undefined]);
  expect(bot.messages('warn')).toEqual([
    "the program's wire was ignored: correlation_id must be a string, not number",
  ]);
});

it('ignores notifications that are wrong, each with a warning', async () => {
  const bot = await startProgram(
    program(`
send(method="log", params={"level": "loud", "message": "x"})
send(method="log", params={"level": "info"})
send(method="wire", params={"transport": "udp"})
send(method="status", params={"status": "stopped"})
send(method="data", params={"patch": [1]})
send(method="tell", params={})
send(method="status", params={"status": "fine"})
sys.stdin.readline()`),
  );
  await until(bot, () => bot.status === 'fine');
  expect(bot.messages('warn')).toEqual([
    'the program\'s log was ignored: level must be one of info, warn, error, state, not "loud"',
    "the program's log was ignored: message must be a string, not missing",
    'the program\'s wire was ignored: transport must be one of tcp, http, not "udp"',
    "the program's status was ignored: the status stopped is the service's own",
    "the program's data was ignored: patch must be an object, not an array",
    "the program's tell was ignored: there is no such notification; there are log, wire, status, data",
  ]);
});

const FAULTS: [what: string, definition: ProgramDefinition, reason: RegExp][] = [
  [
    'exits at once',
    { command: ['true'], protocol: 'jsonl' },
    /^the program exited with code 0 before it answered initialize$/,
  ],
  [
    'fails at once',
    { command: python('import no_such_module'), protocol: 'jsonl' },
    /^the program exited with code 1 before it answered initialize; its standard error ends with: .*No module named 'no_such_module'$/,
  ],
  [
    'prints garbage',
    { command: ['sh', '-c', 'echo Hello, world; sleep 1000'], protocol: 'jsonl' },
    /^the program wrote a line that is no JSON: "Hello, world"$/,
  ],
  [
    'prints JSON that is no object',
    { command: ['sh', '-c', 'echo "[1, 2]"; sleep 1000'], protocol: 'jsonl' },
    /^the program wrote a line that is no JSON object: "\[1, 2\]"$/,
  ],
  [
    'prints an object that says nothing',
    { command: ['sh', '-c', 'echo "{}"; sleep 1000'], protocol: 'jsonl' },
    /^the program wrote an object that is neither a request nor an answer: "{}"$/,
  ],
  [
    'prints half a line and stops',
    { command: ['sh', '-c', 'printf \'{"jsonrpc"\'; exit 0'], protocol: 'jsonl' },
    /^the program exited with code 0 in the middle of a line: "{\\"jsonrpc\\""$/,
  ],
  [
    'prints half a line and hangs',
    {
      command: ['sh', '-c', 'printf \'{"jsonrpc"\'; sleep 1000'],
      protocol: 'jsonl',
      start_timeout_ms: 500,
    },
    /^the program did not answer initialize within 500 ms; it has begun a line: "{\\"jsonrpc\\""$/,
  ],
  [
    'never answers initialize',
    { command: ['sleep', '1000'], protocol: 'jsonl', start_timeout_ms: 100 },
    /^the program did not answer initialize within 100 ms$/,
  ],
  [
    'answers a wrong id',
    {
      command: ['sh', '-c', 'echo \'{"jsonrpc": "2.0", "id": 99, "result": {}}\'; sleep 1000'],
      protocol: 'jsonl',
    },
    /^the program answered the id 99, which was not asked: /,
  ],
  [
    'refuses initialize',
    {
      command: [
        'sh',
        '-c',
        'echo \'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "only version 2"}}\'; sleep 1000',
      ],
      protocol: 'jsonl',
    },
    /^the program cannot be used: initialize: only version 2$/,
  ],
  [
    'offers a schema that is wrong',
    program(
      'time.sleep(1000)',
      '{"commands": {"say": {"args": {"type": "object", "properties": {"a": {"type": "text"}}}}}}',
    ),
    /^the program cannot be used: initialize: commands\.say\.args: .*type/,
  ],
  [
    'offers a command that takes no object',
    program('time.sleep(1000)', '{"commands": {"say": {"args": {"type": "string"}}}}'),
    /^the program cannot be used: initialize: commands\.say\.args must be the schema of an object, not of type string$/,
  ],
  [
    'offers a command with a wrong name',
    program('time.sleep(1000)', '{"commands": {"say it": {}}}'),
    /^the program cannot be used: initialize: the name of the command "say it" must be /,
  ],
  [
    'writes a line that is too long',
    program('print("x" * (1 << 21)); time.sleep(1000)'),
    /^the program wrote a line of more than 1048576 bytes$/,
  ],
  [
    'writes a line that is nested too deep',
    program(
      'print(\'{"jsonrpc": "2.0", "id": \' + "[" * 9000 + "]" * 9000 + ", \\"result\\": 1}"); time.sleep(1000)',
    ),
    /^the program wrote a line that is nested too deep: "/,
  ],
  [
    'closes standard output and lives on',
    program('os.close(1); time.sleep(1000)'),
    /^the program has closed its standard output, and runs on$/,
  ],
  ['is killed', program('os.kill(os.getpid(), 11)'), /^the program was ended by SIGSEGV$/],
];
for (const [what, definition, reason] of FAULTS) {
  it(`says why a program fails that ${what}`, async () => {
    const bot = await startProgram(definition);
    expect(await endOf(bot)).toMatch(reason);
    expect(bot.end?.restart).toBe(true);
  });
}

it('shows no half of a secret in a reason', async () => {
  const secret = 'correct horse battery staple';
  const definition: ProgramDefinition = {
    command: python(
      `import json, sys
key = json.loads(sys.stdin.readline())["params"]["config"]["key"]
print("x" * 290 + key, file=sys.stderr, flush=True)
print("y" * 110 + key); sys.stdin.read()`,
    ),
    protocol: 'jsonl',
    config: { properties: { key: { type: 'string', writeOnly: true } } },
  };
  const bot = await startProgram(definition, { config: { key: secret } });
  const reason = await endOf(bot);
  expect(reason).toMatch(/^the program wrote a line that is no JSON: "y{110}/);
  expect(reason).not.toContain('corr');
});

it('fails commands that wait when the program ends', async () => {
  const bot = await startProgram(program('read(); sys.exit(9)', COMMANDS));
  await until(bot, () => bot.status === 'running');
  await expect(bot.invoke('say')).rejects.toThrow('the program has ended');
  expect(await endOf(bot)).toBe('the program exited with code 9');
});

it('has no commands before it has answered', async () => {
  const bot = await startProgram({
    command: ['sleep', '1000'],
    protocol: 'jsonl',
    commands: { say: { description: 'Says something' } },
  });
  await expect(bot.invoke('say')).rejects.toThrow(/has not (answered initialize|started) yet/);
});

it('keeps the bot when its standard error is flooded', async () => {
  const bot = await startProgram(
    program(
      `
for n in range(20000): print("line", n, file=sys.stderr)
send(method="status", params={"status": "flooded"})
send(id=read()["id"], result=1)
sys.stdin.readline()`,
      COMMANDS,
    ),
  );
  await until(bot, () => bot.status === 'flooded');
  expect(await bot.invoke('say')).toBe(1);
});

it('is killed when it reads its input no more, and ignores SIGTERM', async () => {
  const bot = await startProgram(
    program(
      'import signal; signal.signal(15, signal.SIG_IGN); send(method="status", params={"status": "deaf"}); time.sleep(1000)',
    ),
    { graceMs: 300 },
  );
  await until(bot, () => bot.status === 'deaf');
  await bot.stop(60_000);
  expect(bot.messages('warn')).toEqual([
    'the program did not end on SIGTERM within its grace time, and was killed',
  ]);
});
