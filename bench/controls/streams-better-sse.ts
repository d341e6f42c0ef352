// A control process: better-sse on node:http with a broadcast channel, as in its documentation. In the form `batched`, the lines
// of a tick go to each session with batch(), which is faster.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createChannel, createEventBuffer, createSession } from 'better-sse';
import { announce } from './answers.js';
import { type Form, LineSource, loadFrom } from './line-source.js';

const channel = createChannel();
let form: Form = 'unbatched';

const source = new LineSource((lines) => {
  if (form === 'unbatched') {
    for (const { id, data } of lines) channel.broadcast(data, 'log', { eventId: id });
    return;
  }
  const buffer = createEventBuffer();
  for (const { id, data } of lines) buffer.push(data, 'log', id);
  for (const session of channel.activeSessions) void session.batch(buffer);
});

const server = createServer(async (req, res) => {
  const [path, query = ''] = (req.url ?? '').split('?');
  switch (path) {
    case '/events':
      channel.register(await createSession(req, res, { keepAlive: null }));
      return;
    case '/load': {
      const load = loadFrom(query);
      form = load.form;
      source.start(load);
      break;
    }
    case '/stop':
      source.stop();
      break;
  }
  res.end();
});

server.listen(0, '127.0.0.1', 4096, () => announce((server.address() as AddressInfo).port));
