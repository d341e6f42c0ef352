// Command output for programs, from processes on the built service: - for standard output, --json.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { startOperator } from '../harness/cli.js';

const { service, home, drover } = await startOperator({ demo: true });

it('- writes to standard output, and a device is written without --force', async () => {
  const printed = await drover(['record', '-', '--for', '500ms']);
  expect(printed).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^drover: recorded \d+ events to standard output\n$/),
  });
  const lines = printed.stdout.trimEnd().split('\n');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ drover_recording: 1 });
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'end', data: { by: 'time' } });
  const file = path.join(home, 'printed.ndjson');
  writeFileSync(file, printed.stdout);
  const xml = await drover(['check', file, '--no-errors', '--junit', '-']);
  expect(xml).toMatchObject({ code: 0, stderr: '' });
  expect(xml.stdout).toMatch(/^<\?xml .*\n<testsuites tests="1" failures="0"/);
  expect(xml.stdout).toMatch(/<\/testsuites>\n$/);
  expect(readdirSync(home)).not.toContain('-');
  expect((await drover(['record', '/dev/null', '--for', '300ms'])).code).toBe(0);
});

it('a filtered recording states its filter, and check reports it', async () => {
  const file = path.join(home, 'part.ndjson');
  const flags = ['--level', 'warn,error', '--bot', 'demo-1'];
  expect((await drover(['record', file, '--for', '300ms', ...flags])).code).toBe(0);
  const [head = ''] = readFileSync(file, 'utf8').split('\n');
  expect(JSON.parse(head)).toMatchObject({
    filter: { level: ['warn', 'error'], session: ['demo-1'] },
  });
  expect(await drover(['check', file, '--no-gaps'])).toMatchObject({
    code: 0,
    stderr:
      'drover: the recording holds only level warn,error, bot demo-1; other events are not checked\n',
  });
});

it('--json: bot operations, command results and waits', async () => {
  const json = async (args: string[], code = 0): Promise<unknown> => {
    const end = await drover([...args, '--json']);
    expect(end).toMatchObject({ code });
    return JSON.parse(end.stdout) as unknown;
  };
  expect(await json(['wait'])).toEqual({ url: service.url, after_ms: expect.any(Number) });
  expect(await json(['wait', 'demo-1', '--status', 'in_world'])).toMatchObject({
    id: 'demo-1',
    status: 'in_world',
  });
  expect(await json(['invoke', 'demo-1,nobody', 'say', 'text=hello'], EXIT.failed)).toEqual({
    'demo-1': { result: expect.objectContaining({ said: 'hello' }) },
    nobody: { error: expect.stringContaining('nobody') },
  });
  expect(await json(['bots', 'stop', 'demo-1'])).toEqual({ 'demo-1': { status: 'stopped' } });
  expect(await json(['bots', 'stop', 'demo-1', 'nobody', 'demo-2'], EXIT.failed)).toEqual({
    'demo-1': { status: 'stopped' },
    nobody: { error: 'no bot "nobody"' },
    'demo-2': { status: 'stopped' },
  });
  expect(await json(['bots', 'rm', 'demo-1'])).toEqual({ 'demo-1': { status: 'deleted' } });
});
