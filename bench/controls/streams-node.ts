// A control process: node:http or node:https with one buffer for all streams, without a library.

import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { announce, certificateFromArguments } from './answers.js';
import { frameOf, LineSource, OPENING, pieces } from './line-source.js';

const streams = new Set<ServerResponse>();

const source = new LineSource((lines, form) => {
  const frames = lines.map(frameOf);
  const ready =
    form === 'unbatched'
      ? frames.map((one) => Buffer.from(one))
      : pieces(frames, Number.POSITIVE_INFINITY);
  for (const piece of ready) {
    for (const stream of streams) stream.write(piece);
  }
});

const onRequest: RequestListener = (req, res) => {
  const [path = '', query = ''] = (req.url ?? '').split('?');
  if (path === '/events') {
    res.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    });
    res.write(OPENING);
    streams.add(res);
    res.once('close', () => streams.delete(res));
    return;
  }
  source.obey(path, query);
  res.end();
};

const certificate = certificateFromArguments();
const server = certificate
  ? createSecureServer(
      { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) },
      onRequest,
    )
  : createServer(onRequest);

server.listen(0, '127.0.0.1', 4096, () =>
  announce((server.address() as AddressInfo).port, certificate ? 'https' : 'http'),
);
