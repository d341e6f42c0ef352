import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { endOf, python, startProgram, until } from './programs.js';

function makeDir(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-program-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that nobody has waited for is still in the table.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Resolves when the process is gone. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

it('runs bc: what is sent is computed, and its errors are warnings', async () => {
  const bot = await startProgram({ command: ['bc', '-q'], protocol: 'raw' });
  await bot.invoke('send', { text: '6*7' });
  await bot.invoke('send', { text: '1/0' });
  await bot.invoke('send', { text: '2^100' });
  await until(bot, () => bot.messages('info').includes('1267650600228229401496703205376'));
  expect(bot.messages('info')).toContain('42');
  await until(bot, () => bot.messages('warn').some((line) => /zero/i.test(line)));
  expect(bot.status).toBe('running');
  const warning = bot.lines.find(({ level }) => level === 'warn');
  expect(warning).toMatchObject({ scope: 'stderr', transport: null });
  // bc ends at the end of its input, with code 0: the bot is done.
  await bot.invoke('eof');
  expect(await endOf(bot)).toBeNull();
});

it('keeps escape sequences, takes line ends of both kinds, and a last line without one', async () => {
  const code = String.raw`import sys; sys.stdout.write("\x1b[31mred\x1b[0m\r\nplain\n\nend")`;
  const bot = await startProgram({ command: python(code), protocol: 'raw' });
  expect(await endOf(bot)).toBeNull();
  expect(bot.messages('info')).toEqual(['\x1b[31mred\x1b[0m', 'plain', '', 'end']);
});

it('cuts a line of more than 1 MiB, with a mark, and takes the next one', async () => {
  const code = 'print("x" * (1 << 20) + "y" * 5); print("next")';
  const bot = await startProgram({ command: python(code), protocol: 'raw' });
  expect(await endOf(bot)).toBeNull();
  const [long, next] = bot.messages('info');
  // The line of the stream is shorter still.
  expect(long).toMatch(/^x+… \[cut, \d+ characters\]$/);
  expect(next).toBe('next');
});

it('has the environment of its definition, of its bot, and nothing else of the service', async () => {
  process.env['DROVER_TEST_OF_SERVICE'] = 'hidden';
  onTestFinished(() => {
    delete process.env['DROVER_TEST_OF_SERVICE'];
  });
  const bot = await startProgram(
    {
      command: ['env'],
      protocol: 'raw',
      env: { MODE: 'fast', KEY: { config: 'key' }, RATE: { config: 'rate' }, NO: { config: 'no' } },
      config: {
        properties: {
          key: { type: 'string', writeOnly: true },
          rate: { type: 'number' },
          no: { type: 'string' },
        },
      },
    },
    { id: 'bot-7', config: { key: 'a-long-secret', rate: 0.5 } },
  );
  expect(await endOf(bot)).toBeNull();
  const lines = bot.messages('info');
  expect(lines).toEqual(
    expect.arrayContaining(['MODE=fast', 'RATE=0.5', 'DROVER_BOT_ID=bot-7', 'DROVER_KIND=program']),
  );
  // It has the secret, and what it prints of it is masked.
  expect(lines.find((line) => line.startsWith('KEY='))).not.toContain('a-long-secret');
  expect(lines.filter((line) => /^(NO|DROVER_TEST_OF_SERVICE)=/.test(line))).toEqual([]);
});

it('sends signals to all processes of the group', async () => {
  const bot = await startProgram({
    command: [
      'sh',
      '-c',
      'trap "echo parent" USR1; sh -c \'trap "echo child" USR1; echo up; while :; do sleep 0.05; done\' & while :; do wait; done',
    ],
    protocol: 'raw',
  });
  await until(bot, () => bot.messages('info').includes('up'));
  await bot.invoke('signal', { name: 'SIGUSR1' });
  await until(bot, () => ['parent', 'child'].every((one) => bot.messages('info').includes(one)));
  await expect(bot.invoke('signal', { name: 'SIGNAL' })).rejects.toThrow(/name/);
});

it('fails with the exit code, or the signal, and the end of standard error', async () => {
  const failing = await startProgram({
    command: python('import sys; print("no quote", file=sys.stderr); sys.exit(3)'),
    protocol: 'raw',
  });
  expect(await endOf(failing)).toBe(
    'the program exited with code 3; its standard error ends with: no quote',
  );
  const broken = await startProgram({
    command: python('import os; os.abort()'),
    protocol: 'raw',
  });
  expect(await endOf(broken)).toBe('the program was ended by SIGABRT');
});

it('says why a program cannot be started, which a restart would not change', async () => {
  const dir = makeDir();
  const file = path.join(dir, 'not-executable');
  writeFileSync(file, 'text');
  const cases: [string[], string | undefined, RegExp][] = [
    [
      ['drover-no-such-program'],
      undefined,
      /^there is no program "drover-no-such-program" in PATH/,
    ],
    [['./no-such-program'], undefined, /^there is no program ".\/no-such-program", or/],
    [[file], undefined, /is not executable: chmod \+x$/],
    [
      ['true'],
      path.join(dir, 'no-dir'),
      /^the working directory .*no-dir of the program does not exist$/,
    ],
  ];
  for (const [command, cwd, reason] of cases) {
    const bot = await startProgram({ command, protocol: 'raw', ...(cwd ? { cwd } : {}) });
    expect(await endOf(bot)).toMatch(reason);
    expect(bot.end?.restart).toBe(false);
  }
});

it('stops with SIGTERM', async () => {
  const bot = await startProgram(
    {
      command: ['sh', '-c', 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done'],
      protocol: 'raw',
    },
    { graceMs: 60_000 },
  );
  await until(bot, () => bot.messages('info').includes('up'));
  await bot.stop(60_000);
  expect(bot.messages('info')).toContain('bye');
  // Of the shell, about the sleep in its group.
  expect(bot.messages('warn').filter((line) => line !== 'Terminated')).toEqual([]);
});

it('is killed when it ignores SIGTERM, before its grace time is over', async () => {
  const bot = await startProgram(
    {
      command: ['sh', '-c', 'trap "" TERM; echo up $$; while :; do sleep 0.05; done'],
      protocol: 'raw',
    },
    { graceMs: 300 },
  );
  await until(bot, () => bot.messages('info').length > 0);
  const pid = Number(bot.messages('info')[0]?.split(' ')[1]);
  await bot.stop(60_000);
  expect(bot.messages('warn')).toEqual([
    'the program did not end on SIGTERM within its grace time, and was killed',
  ]);
  expect(isAlive(pid)).toBe(false);
});

it('leaves no grandchild that holds its pipes', async () => {
  const bot = await startProgram({
    command: ['sh', '-c', 'sleep 1000 & echo $!; exit 4'],
    protocol: 'raw',
  });
  expect(await endOf(bot)).toBe('the program exited with code 4');
  await gone(Number(bot.messages('info')[0]));
});

it('ends also when a process outside of its group holds its output', async () => {
  const code =
    'import os, time\nif os.fork() == 0:\n os.setsid(); print(os.getpid(), flush=True); time.sleep(1000)\nelse: time.sleep(0.2)';
  const bot = await startProgram({ command: python(code), protocol: 'raw' });
  expect(await endOf(bot)).toBeNull();
  const pid = Number(bot.messages('info')[0]);
  process.kill(pid, 'SIGKILL');
});

it('runs on when it closes its output', async () => {
  const bot = await startProgram({
    command: ['sh', '-c', 'exec 1>&-; read line; exit 5'],
    protocol: 'raw',
  });
  await until(bot, () =>
    bot.messages('warn').includes('the program has closed its standard output, and runs on'),
  );
  await bot.invoke('send', { text: 'go' });
  expect(await endOf(bot)).toBe('the program exited with code 5');
});

it('does not wait for a program that does not read', async () => {
  const bot = await startProgram({ command: ['sleep', '1000'], protocol: 'raw' });
  await until(bot, () => bot.status === 'running');
  const text = 'x'.repeat(700_000);
  await bot.invoke('send', { text });
  await bot.invoke('send', { text });
  await expect(bot.invoke('send', { text })).rejects.toThrow(
    /^the program does not read its standard input: \d+ bytes wait$/,
  );
  await bot.invoke('eof');
  await expect(bot.invoke('send', { text: 'more' })).rejects.toThrow(/standard input .* is closed/);
});
