// A control process: a bare uWebSockets.js loop, the least that HTTP can cost on this engine.

import uWS, { type HttpResponse } from 'uWebSockets.js';
import { announce, answersFromArguments, JSON_TYPE, TEXT } from './answers.js';

const answers = answersFromArguments();
let apiInfo = '';

const app = uWS
  .App()
  .get('/health', (res) => {
    res.writeHeader('Content-Type', TEXT).end(answers.health);
  })
  .post('/auth/pin', (res) => {
    res.onAborted(() => {});
    let bytes = 0;
    res.onData((chunk, isLast) => {
      bytes += chunk.byteLength;
      if (!isLast) return;
      res.writeStatus(bytes > 0 ? '429 Too Many Requests' : '400 Bad Request');
      res.writeHeader('Content-Type', JSON_TYPE).writeHeader('Retry-After', answers.retryAfter);
      res.end(answers.locked);
    });
  })
  .get('/api-info', (res, req) => {
    if (req.getHeader('authorization') !== answers.authorization) return refuse(res);
    res.writeHeader('Content-Type', JSON_TYPE).end(apiInfo);
  })
  .get('/api/bots', (res, req) => {
    if (req.getHeader('authorization') !== answers.authorization) return refuse(res);
    res.writeHeader('Content-Type', JSON_TYPE).end(answers.bots);
  });

function refuse(res: HttpResponse): void {
  res.writeStatus('401 Unauthorized').end();
}

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  const port = uWS.us_socket_local_port(socket);
  apiInfo = answers.apiInfo(port);
  announce(port);
});
