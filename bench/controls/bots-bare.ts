// A control process of the bots bench: the least that hosting bots can cost. A bare uWebSockets.js loop forwards each request to
// a worker thread, where a bot is an object. Nothing is stored, validated or streamed.

import uWS, { type HttpResponse } from 'uWebSockets.js';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { announce, JSON_TYPE } from './answers.js';
import type { BareAnswer, BareRequest } from './bots-bare-thread.js';

const { values } = parseArgs({ options: { token: { type: 'string', default: '' } } });
const authorization = `Bearer ${values.token}`;
const thread = new Worker(new URL('./bots-bare-thread.js', import.meta.url));
const waiting = new Map<number, (answer: BareAnswer) => void>();
let requests = 0;

thread.on('message', (answer: BareAnswer) => {
  waiting.get(answer.request)?.(answer);
  waiting.delete(answer.request);
});

/** Forwards the body and returns the thread's reply. */
function forward(res: HttpResponse, ask: BareRequest['ask'], status: string): void {
  const request = ++requests;
  let aborted = false;
  let text = '';
  res.onAborted(() => {
    aborted = true;
  });
  res.onData((chunk, isLast) => {
    text += Buffer.from(chunk).toString();
    if (!isLast) return;
    waiting.set(request, ({ json }) => {
      if (aborted) return;
      res.cork(() => {
        res.writeStatus(status).writeHeader('Content-Type', JSON_TYPE).end(json);
      });
    });
    const message: BareRequest = { request, ask, body: text === '' ? null : JSON.parse(text) };
    thread.postMessage(message);
  });
}

function refuse(res: HttpResponse): void {
  res.writeStatus('401 Unauthorized').end();
}

const app = uWS
  .App()
  .post('/invoke', (res, req) => {
    if (req.getHeader('authorization') !== authorization) return refuse(res);
    forward(res, 'invoke', '200 OK');
  })
  .post('/api/bots', (res, req) => {
    if (req.getHeader('authorization') !== authorization) return refuse(res);
    forward(res, 'create', '201 Created');
  })
  .get('/api/bots', (res, req) => {
    if (req.getHeader('authorization') !== authorization) return refuse(res);
    forward(res, 'list', '200 OK');
  });

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  announce(uWS.us_socket_local_port(socket));
});
