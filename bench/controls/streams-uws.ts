// A control process: a bare uWebSockets.js loop that writes prepared bytes to every stream, the least that a stream can cost on
// this engine. It ignores the result of write(): no client here is slow.

import uWS, { type HttpResponse } from 'uWebSockets.js';
import { announce } from './answers.js';
import { type Form, frameOf, LineSource, loadFrom, OPENING, pieces } from './line-source.js';

/** The size of the cork buffer: uWebSockets.js can lose the payload of a larger write (docs/ENGINES.md). */
const MOST = 16_000;

const streams: HttpResponse[] = [];
let form: Form = 'batched';
let piece: Buffer = Buffer.alloc(0);
let stream: HttpResponse | undefined;
const write = (): void => {
  stream?.write(piece as Buffer<ArrayBuffer>);
};

const source = new LineSource((lines) => {
  const frames = lines.map(frameOf);
  const ready = form === 'batched' ? pieces(frames, MOST) : frames.map((one) => Buffer.from(one));
  for (piece of ready) {
    for (stream of streams) stream.cork(write);
  }
});

const app = uWS
  .App()
  .get('/events', (res) => {
    res.onAborted(() => {
      const last = streams.pop() as HttpResponse;
      const at = streams.indexOf(res);
      if (at !== -1) streams[at] = last;
    });
    res.onWritable(() => true);
    res
      .writeHeader('Content-Type', 'text/event-stream')
      .writeHeader('Cache-Control', 'no-cache, no-transform')
      .writeHeader('X-Accel-Buffering', 'no');
    res.write(OPENING);
    streams.push(res);
  })
  .get('/health', (res) => {
    res.writeHeader('Content-Type', 'text/plain').end('ok');
  })
  .post('/load', (res, req) => {
    const load = loadFrom(req.getQuery());
    form = load.form;
    source.start(load.rate, load.bytes);
    res.end();
  })
  .post('/stop', (res) => {
    source.stop();
    res.end();
  });

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  announce(uWS.us_socket_local_port(socket));
});
