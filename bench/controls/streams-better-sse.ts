// A control process: better-sse on node:http with a broadcast channel, as in its documentation.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createChannel, createSession } from 'better-sse';
import { announce } from './answers.js';
import { LineSource } from './line-source.js';

const channel = createChannel();

const source = new LineSource((lines) => {
  for (const { id, data } of lines) channel.broadcast(data, 'log', { eventId: id });
});

const server = createServer(async (req, res) => {
  const [path = '', query = ''] = (req.url ?? '').split('?');
  if (path === '/events') {
    channel.register(await createSession(req, res, { keepAlive: null }));
    return;
  }
  source.obey(path, query);
  res.end();
});

server.listen(0, '127.0.0.1', 4096, () => announce((server.address() as AddressInfo).port));
