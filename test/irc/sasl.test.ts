// SASL PLAIN on a network with accounts: InspIRCd with Atheme's services. A second server also shows that the irc kind
// does not depend on ngIRCd.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, call } from '../harness/api.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { snapshots, waitForLog, waitForStatus } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';
import { type Network, startNetwork } from './inspircd.js';
import { IrcUser } from './irc-user.js';

const PASSWORD = 'correct-horse-battery';

let service: Service;
let stream: SseStream;
let network: Network;
let user: IrcUser;

beforeAll(async () => {
  network = await startNetwork();
  user = await IrcUser.join(network.port, 'watcher', '#drover');
  const owner = await IrcUser.join(network.port, 'beth', '#drover');
  owner.send(`PRIVMSG NickServ :REGISTER ${PASSWORD} beth@irc.test`);
  await owner.waitFor(/NickServ\S* NOTICE .*registered/i);
  owner.close();
  await user.waitFor(/^:beth!\S+ QUIT/);
  service = await startService();
  stream = await openStream(`${service.url}/events`, { token: await service.token() });
});
afterAll(async () => {
  stream?.close();
  user?.close();
  await stopClean(service);
  await network?.stop();
});

function create(id: string, password: string): Promise<Answer> {
  const config = {
    host: '127.0.0.1',
    port: network.port,
    nick: id,
    sasl: { account: 'beth', password },
    channels: ['#drover'],
  };
  return call(service, 'POST', '/api/bots', { body: { id, kind: 'irc', config } });
}

it('logs in to its account before it is online, and the password is on no line', async () => {
  expect((await create('beth', PASSWORD)).status).toBeLessThan(300);
  await waitForStatus(stream, 'beth', 'online');
  await waitForLog(stream, (l) => / 903 /.test(l.message) && l.session_id === 'beth');
  await waitForLog(stream, (l) => l.direction === 'outgoing' && l.message === 'AUTHENTICATE ***');
  user.send('WHOIS beth');
  await user.waitFor(/ 330 watcher beth beth /);
  const shown = stream.raw + JSON.stringify((await call(service, 'GET', '/api/bots/beth')).json);
  expect(shown).not.toContain(PASSWORD);
  expect(shown).not.toContain(Buffer.from(`beth\0beth\0${PASSWORD}`).toString('base64'));
});

it('sends messages that others receive', async () => {
  const body = {
    session_id: 'beth',
    command: 'say',
    args: { target: '#drover', text: 'good day' },
  };
  expect((await call(service, 'POST', '/invoke', { body })).status).toBe(200);
  await user.waitFor(/^\S*:beth!\S+ PRIVMSG #drover :good day$/);
  user.send('PRIVMSG #drover :same to you');
  await waitForLog(
    stream,
    (l) => l.scope === 'irc' && l.message === '#drover <watcher> same to you',
  );
});

it('fails with a wrong password, and does not try again', async () => {
  await create('mallory', 'wrong-password');
  await waitForStatus(stream, 'mallory', 'failed');
  const statuses = snapshots(stream, 'mallory');
  expect(statuses.at(-1)?.last_error).toMatch(/SASL login was refused/);
  expect(statuses.map(({ status }) => status)).not.toContain('joining');
  expect(statuses.map(({ status }) => status)).not.toContain('reconnecting');
});
