// A control process: a bare uWebSockets.js loop that writes prepared bytes to every stream, the least that a stream can cost on
// this engine, over TCP or TLS. It ignores the result of write(): no client here is slow.

import uWS, { type HttpResponse } from 'uWebSockets.js';
import { announce, certificateFromArguments } from './answers.js';
import { frameOf, LineSource, OPENING, pieces } from './line-source.js';

/** The size of the cork buffer: uWebSockets.js can lose the payload of a larger write in a cork (docs/ENGINES.md). */
const MOST_CORKED = 16_000;
/** A piece of the form `large`, which is written without a cork. */
const LARGE = 256 * 1024;

const certificate = certificateFromArguments();
const streams: HttpResponse[] = [];
let piece: Buffer = Buffer.alloc(0);
let stream: HttpResponse | undefined;
const write = (): void => {
  stream?.write(piece as Buffer<ArrayBuffer>);
};

function writeCorked(ready: readonly Buffer[]): void {
  for (piece of ready) {
    for (stream of streams) stream.cork(write);
  }
}

/** Frames of the form `large` that wait for more. */
let collected: string[] = [];
let collectedBytes = 0;

function writeCollected(): void {
  piece = Buffer.from(collected.join(''), 'latin1');
  collected = [];
  collectedBytes = 0;
  for (stream of streams) write();
}

function collect(frames: readonly string[]): void {
  for (const frame of frames) {
    if (collectedBytes + frame.length > LARGE) writeCollected();
    collected.push(frame);
    collectedBytes += frame.length;
  }
}

const source = new LineSource((lines, form) => {
  const frames = lines.map(frameOf);
  if (form === 'large') collect(frames);
  else if (form === 'batched') writeCorked(pieces(frames, MOST_CORKED));
  else writeCorked(frames.map((one) => Buffer.from(one)));
});

const app = (
  certificate
    ? uWS.SSLApp({ cert_file_name: certificate.cert, key_file_name: certificate.key })
    : uWS.App()
)
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
  .post('/*', (res, req) => {
    source.obey(req.getUrl(), req.getQuery() ?? '');
    if (req.getUrl() === '/stop' && collected.length > 0) writeCollected();
    res.end();
  });

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  announce(uWS.us_socket_local_port(socket), certificate ? 'https' : 'http');
});
