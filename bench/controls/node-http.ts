// A control process: the same responses with plain node:http.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce, answersFromArguments, JSON_TYPE, TEXT } from './answers.js';

const answers = answersFromArguments();
let apiInfo = '';

const server = createServer((req, res) => {
  switch (req.url) {
    case '/health':
      return answer(res, 200, TEXT, answers.health);
    case '/auth/pin':
      if (req.method === 'POST') {
        let bytes = 0;
        req.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        req.on('end', () => {
          res.setHeader('Retry-After', answers.retryAfter);
          answer(res, bytes > 0 ? 429 : 400, JSON_TYPE, answers.locked);
        });
        return;
      }
      break;
    case '/api-info':
      if (req.headers.authorization !== answers.authorization) break;
      return answer(res, 200, JSON_TYPE, apiInfo);
    case '/api/bots':
      if (req.headers.authorization !== answers.authorization) break;
      return answer(res, 200, JSON_TYPE, answers.bots);
  }
  res.writeHead(401).end();
});

function answer(res: ServerResponse, status: number, type: string, body: string | Buffer): void {
  res.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  res.end(body);
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  apiInfo = answers.apiInfo(port);
  announce(port);
});
