// The irc kind on a real ngIRCd.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { logs, snapshots, waitForLog, waitForStatus } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';
import { IrcUser } from './irc-user.js';
import { type Ngircd, startNgircd } from './ngircd.js';

let service: Service;
let stream: SseStream;
let server: Ngircd;
let user: IrcUser;
const others: Ngircd[] = [];

beforeAll(async () => {
  server = await startNgircd();
  user = await IrcUser.join(server.port, 'watcher', '#drover');
  service = await startService();
  stream = await openStream(`${service.url}/events`, { token: await service.token() });
  expect((await create('anna', { channels: ['#drover'] })).status).toBeLessThan(300);
  await waitForStatus(stream, 'anna', 'online');
});
afterEach(async () => {
  for (const other of others.splice(0)) await other.stop();
});
afterAll(async () => {
  stream?.close();
  user?.close();
  await stopClean(service);
  await server?.stop();
});

/** A bot whose nick is its id. It does not reconnect and is not restarted unless the test says so. */
function create(id: string, config: Record<string, unknown> = {}): Promise<Answer> {
  const { port } = server;
  return call(service, 'POST', '/api/bots', {
    body: {
      id,
      kind: 'irc',
      restart: { policy: 'never' },
      config: { host: '127.0.0.1', port, nick: id, reconnect: { attempts: 0 }, ...config },
    },
  });
}

function invoke(id: string, command: string, args: Record<string, string>): Promise<Answer> {
  return call(service, 'POST', '/invoke', { body: { session_id: id, command, args } });
}

/** A bot's data in the API. */
async function dataOf(id: string): Promise<unknown> {
  return ((await call(service, 'GET', `/api/bots/${id}`)).json as { data: unknown }).data;
}

function statusesOf(id: string): string[] {
  const statuses = snapshots(stream, id).map(({ status }) => status);
  return statuses.filter((status, index) => status !== statuses[index - 1]);
}

async function failed(id: string): Promise<string | null | undefined> {
  await waitForStatus(stream, id, 'failed');
  return snapshots(stream, id).findLast(({ last_error }) => last_error !== null)?.last_error;
}

it('goes online step by step, and shows its state', async () => {
  expect(statusesOf('anna').slice(-4)).toEqual(['connecting', 'registering', 'joining', 'online']);
  await expect
    .poll(() => dataOf('anna'))
    .toEqual({ nick: 'anna', server: 'irc.test', channels: ['#drover'], channel_count: 1 });
  await user.waitFor(/^:anna!\S+ JOIN :?#drover/);
});

it('says a text from POST /invoke in the channel, and its lines are on the stream', async () => {
  const answer = await invoke('anna', 'say', { target: '#drover', text: 'hello, channel: wörld' });
  expect([answer.status, answer.json]).toEqual([200, { result: { target: '#drover' } }]);
  await user.waitFor(/^:anna!\S+ PRIVMSG #drover :hello, channel: wörld$/);
  const line = await waitForLog(stream, (l) => l.message.startsWith('PRIVMSG #drover'));
  expect(line).toMatchObject({
    level: 'info',
    scope: 'tcp',
    session_id: 'anna',
    transport: 'tcp',
    direction: 'outgoing',
    message: 'PRIVMSG #drover :hello, channel: wörld',
  });
});

it('sends a long text in pieces, without loss', async () => {
  const text = Array.from({ length: 150 }, (_, n) => `word${n}`).join(' ');
  expect((await invoke('anna', 'say', { target: 'watcher', text })).status).toBe(200);
  await user.waitFor(/PRIVMSG watcher :.*word149$/);
  const pieces = user.lines.filter((line) => line.includes('PRIVMSG watcher'));
  expect(pieces.map((line) => line.slice(line.indexOf(' :') + 2)).join(' ')).toBe(text);
  expect(pieces.length).toBeGreaterThan(1);
});

it('messages of others are a wire line and a line of scope irc', async () => {
  user.send('PRIVMSG #drover :\x02bold\x02 \x1b[31mtext');
  const wire = await waitForLog(
    stream,
    (l) => l.direction === 'incoming' && l.message.includes('bold'),
  );
  expect(wire).toMatchObject({ scope: 'tcp', transport: 'tcp', session_id: 'anna' });
  expect(wire.message).toMatch(/^:watcher!\S+ PRIVMSG #drover :␂bold␂ ␛\[31mtext$/);
  const chat = await waitForLog(stream, (l) => l.scope === 'irc' && l.message.includes('bold'));
  expect(chat.message).toMatch(/^#drover <watcher> /);
  user.send('PRIVMSG anna :psst');
  expect((await waitForLog(stream, (l) => l.message.endsWith('> psst'))).message).toBe(
    '<watcher> psst',
  );
});

it('joins, parts with a reason, and changes its nick', async () => {
  expect((await invoke('anna', 'join', { channel: '#Second' })).json).toEqual({
    result: { channel: '#Second' },
  });
  await expect.poll(() => dataOf('anna')).toMatchObject({ channels: ['#drover', '#Second'] });
  // Again: it is already in the channel.
  expect((await invoke('anna', 'join', { channel: '#second' })).status).toBe(200);

  user.send('JOIN #Second');
  await user.waitFor(/ 366 \S+ #Second/);
  expect((await invoke('anna', 'part', { channel: '#second', reason: 'see you' })).status).toBe(
    200,
  );
  await user.waitFor(/^:anna!\S+ PART #second :see you$/i);
  await expect.poll(() => dataOf('anna')).toMatchObject({ channels: ['#drover'] });
  expectError(await invoke('anna', 'part', { channel: '#second' }), 500, /not in #second/);

  expect((await invoke('anna', 'nick', { nick: 'hannah' })).json).toEqual({
    result: { nick: 'hannah' },
  });
  await user.waitFor(/^:anna!\S+ NICK :?hannah$/);
  await expect.poll(() => dataOf('anna')).toMatchObject({ nick: 'hannah' });
  expect((await invoke('anna', 'nick', { nick: 'anna' })).status).toBe(200);
});

it('a command fails with the reason of the server', async () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ['nick', { nick: 'watcher' }, /nickname already in use \(433\)/i],
    ['nick', { nick: '1st' }, /erroneous nickname \(432\)/i],
    ['say', { target: '#nowhere', text: 'x' }, /\(40[134]\)/],
    ['say', { target: 'nobody', text: 'x' }, /no such nick or channel name \(401\)/i],
  ];
  for (const [command, args, reason] of cases) {
    expectError(await invoke('anna', command, args), 500, reason);
  }
  user.send('MODE #drover +m');
  await user.waitFor(/MODE #drover \+m/);
  expectError(
    await invoke('anna', 'say', { target: '#drover', text: 'x' }),
    500,
    /cannot send to channel \(404\)/i,
  );
  user.send('MODE #drover -m');
  user.send('JOIN #closed');
  user.send('MODE #closed +i');
  await user.waitFor(/MODE #closed \+i/);
  expectError(await invoke('anna', 'join', { channel: '#closed' }), 500, /\(473\)/);
});

it('rejects a second line in an argument', async () => {
  for (const args of [
    { target: '#drover', text: 'x\r\nQUIT' },
    { target: '#drover\nQUIT', text: 'x' },
    { target: '#drover x', text: 'x' },
    { target: '#drover', text: 'nul\0' },
  ]) {
    expectError(await invoke('anna', 'say', args), 400);
  }
  expectError(await invoke('anna', 'join', { channel: '0' }), 400);
});

it('hides its messages to services', async () => {
  await invoke('anna', 'say', { target: 'NickServ', text: 'IDENTIFY swordfish' });
  await waitForLog(stream, (l) => l.message === 'PRIVMSG NickServ :IDENTIFY ***');
  expect(stream.raw).not.toContain('swordfish');
});

it('is kicked: reports and shows it', async () => {
  user.send('KICK #drover anna :behave');
  await waitForLog(stream, (l) => l.message === 'kicked from #drover by watcher: behave');
  await expect.poll(() => dataOf('anna')).toMatchObject({ channels: [] });
  expect((await invoke('anna', 'join', { channel: '#drover' })).status).toBe(200);
});

it('a nick in use or an invalid nick: fails with the reason', async () => {
  await create('taken', { nick: 'watcher' });
  expect(await failed('taken')).toMatch(/the nick watcher is in use/);
  await create('strange', { nick: '1st', reconnect: { attempts: 5 } });
  expect(await failed('strange')).toMatch(/does not accept the nick/);
  expect(statusesOf('strange')).not.toContain('reconnecting');
});

it('a server password: online when right, failed for good when wrong, and never shown', async () => {
  const secured = await startNgircd({ password: 'open-sesame' });
  others.push(secured);
  const { port } = secured;
  await create('right', { port, password: 'open-sesame' });
  await waitForStatus(stream, 'right', 'online');
  // Neither its own retries nor the restart policy try the same password again.
  await call(service, 'POST', '/api/bots', {
    body: {
      id: 'wrong',
      kind: 'irc',
      restart: { policy: 'always', backoff_ms: 0 },
      config: { host: '127.0.0.1', port, nick: 'wrong', password: 'open-barley' },
    },
  });
  expect(await failed('wrong')).toMatch(/server password is wrong or missing/);
  expect(statusesOf('wrong')).not.toContain('reconnecting');
  expect(statusesOf('wrong')).not.toContain('backoff');
  const shown = JSON.stringify((await call(service, 'GET', '/api/bots')).json) + stream.raw;
  expect(shown).not.toMatch(/open-sesame|open-barley/);
  await waitForLog(stream, (l) => l.session_id === 'wrong' && l.message === 'PASS ***');
});

it('reconnects when the server is back, with its nick and channels', async () => {
  const first = await startNgircd();
  const { port } = first;
  await create('phoenix', {
    port,
    channels: ['#one'],
    reconnect: { attempts: 20, wait_ms: 100, max_wait_ms: 500 },
  });
  await waitForStatus(stream, 'phoenix', 'online');
  await invoke('phoenix', 'join', { channel: '#two' });
  await invoke('phoenix', 'nick', { nick: 'risen' });
  await first.stop();
  await waitForStatus(stream, 'phoenix', 'reconnecting');
  expectError(
    await invoke('phoenix', 'say', { target: '#one', text: 'x' }),
    500,
    /not connected to the server/,
  );
  others.push(await startNgircd({ port }));
  const before = stream.frames.length;
  await stream.until(
    () =>
      stream.frames
        .slice(before)
        .some(({ data }) => data.includes('"phoenix"') && data.includes('"status":"online"')),
    15_000,
  );
  await expect.poll(() => dataOf('phoenix')).toMatchObject({ nick: 'risen', channel_count: 2 });
  const { restarts } = (await call(service, 'GET', '/api/bots/phoenix')).json as {
    restarts: number;
  };
  expect(restarts).toBe(0);
});

it('gives up after the configured attempts', async () => {
  await create('hopeless', { port: await freePort(), reconnect: { attempts: 2, wait_ms: 100 } });
  expect(await failed('hopeless')).toMatch(/ECONNREFUSED/);
  const attempts = logs(stream).filter(
    (l) => l.session_id === 'hopeless' && l.message.includes('to reconnect'),
  );
  expect(attempts.map(({ message }) => /attempt \d of \d/.exec(message)?.[0])).toEqual([
    'attempt 1 of 2',
    'attempt 2 of 2',
  ]);
});

it('over TLS: a self-signed certificate is rejected, unless verification is off', async () => {
  const dir = makeDir();
  const [key, certificate] = ['key.pem', 'cert.pem'].map((name) => join(dir, name)) as [
    string,
    string,
  ];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=irc.test'],
      ...['-keyout', key, '-out', certificate],
    ],
    { stdio: 'pipe' },
  );
  const secured = await startNgircd({
    tls: { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') },
  });
  removeDir(dir);
  others.push(secured);
  const { port } = secured;
  await create('trusting', { port, tls: true, tls_verify: false, channels: ['#drover'] });
  await waitForStatus(stream, 'trusting', 'online');
  expect((await invoke('trusting', 'say', { target: '#drover', text: 'x' })).status).toBe(200);
  await create('careful', { port, tls: true });
  expect(await failed('careful')).toMatch(/self-signed certificate/);
});

it('an account on a server without SASL: it does not go online', async () => {
  await create('anon', { sasl: { account: 'anon', password: 'hush-hush' } });
  expect(await failed('anon')).toMatch(/no SASL/);
  expect(statusesOf('anon')).not.toContain('joining');
});

it('sends QUIT when it is stopped or deleted, and its nick is free at once', async () => {
  await create('leaver', { channels: ['#drover'] });
  await waitForStatus(stream, 'leaver', 'online');
  expect((await call(service, 'DELETE', '/api/bots/leaver')).status).toBeLessThan(300);
  await user.waitFor(/^:leaver!\S+ QUIT :.*stopped/);
  await create('leaver', { channels: ['#drover'] });
  await waitForStatus(stream, 'leaver', 'online');
});

it('paces a burst of commands, so that the server does not disconnect it', async () => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      invoke('anna', 'say', { target: 'watcher', text: `burst ${n}` }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  await user.waitFor(/burst 7$/);
});
