// A reverse proxy with services under paths, as `location /one/ { proxy_pass http://127.0.0.1:8090/; }` of nginx makes it.

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PathProxy {
  /** Without a trailing slash. */
  origin: string;
  /** Path and token of each request so far, as the client sent them. */
  seen: { path: string; token: string | undefined }[];
  /** Bytes of the bodies of all responses so far. */
  bytes(): number;
  close(): Promise<void>;
}

/** @param ports of the services, by their path: `/one/`. */
export async function startPathProxy(ports: Readonly<Record<string, number>>): Promise<PathProxy> {
  const seen: PathProxy['seen'] = [];
  let bytes = 0;
  const server = http.createServer((request, response) => {
    const { url: path = '', method, headers } = request;
    seen.push({ path, token: headers.authorization });
    const [prefix, port] = Object.entries(ports).find(([start]) => path.startsWith(start)) ?? [];
    if (prefix === undefined || port === undefined) {
      response.writeHead(404).end();
      return;
    }
    const target = {
      host: '127.0.0.1',
      port,
      path: path.slice(prefix.length - 1),
      method,
      headers,
    };
    const forwarded = http.request(target, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.on('data', ({ length }: Buffer) => {
        bytes += length;
      });
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    bytes: () => bytes,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
