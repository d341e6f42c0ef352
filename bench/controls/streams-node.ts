// A control process: node:http with one buffer for all streams, without a library.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce } from './answers.js';
import { type Form, frameOf, LineSource, loadFrom, OPENING, pieces } from './line-source.js';

const streams = new Set<ServerResponse>();
let form: Form = 'batched';

const source = new LineSource((lines) => {
  const frames = lines.map(frameOf);
  const ready =
    form === 'batched'
      ? pieces(frames, Number.POSITIVE_INFINITY)
      : frames.map((one) => Buffer.from(one));
  for (const piece of ready) {
    for (const stream of streams) stream.write(piece);
  }
});

const server = createServer((req, res) => {
  const [path, query = ''] = (req.url ?? '').split('?');
  switch (path) {
    case '/events':
      res.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      });
      res.write(OPENING);
      streams.add(res);
      res.once('close', () => streams.delete(res));
      return;
    case '/load': {
      const load = loadFrom(query);
      form = load.form;
      source.start(load.rate, load.bytes);
      break;
    }
    case '/stop':
      source.stop();
      break;
  }
  res.end();
});

server.listen(0, '127.0.0.1', 4096, () => announce((server.address() as AddressInfo).port));
