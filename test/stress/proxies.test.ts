// Drover behind HAProxy and nginx, which reuse their connections to it for all clients: no client's request changes what
// another one gets, and bodies without a length arrive.

import { connect } from 'node:http2';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../harness/daemon.js';
import { CHUNKED, CODINGS, chunked, LENGTHS } from '../harness/framing-cases.js';
import { RawConnection, raw } from '../harness/http.js';
import { freePort } from '../harness/ports.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const PING = '{"session_id":null,"command":"ping"}';
const VICTIMS = 12;

interface Proxies {
  haproxy: number;
  /** HTTP/2 without TLS. */
  haproxyH2: number;
  haproxyStats: number;
  nginx: number;
  /** As nginx is without settings: HTTP/1.0 to the service. */
  nginxStock: number;
}

const proxyPorts = async (): Promise<Proxies> => ({
  haproxy: await freePort(),
  haproxyH2: await freePort(),
  haproxyStats: await freePort(),
  nginx: await freePort(),
  nginxStock: await freePort(),
});

const haproxyConfig = (ports: Proxies, service: number): string => `
defaults
  mode http
  timeout connect 20s
  timeout client 60s
  timeout server 60s
frontend drover
  bind 127.0.0.1:${ports.haproxy}
  bind 127.0.0.1:${ports.haproxyH2} proto h2
  default_backend drover
frontend stats
  bind 127.0.0.1:${ports.haproxyStats}
  stats enable
  stats uri /stats
backend drover
  http-reuse always
  server drover 127.0.0.1:${service}
backend old_check
  option httpchk GET /health
  server drover 127.0.0.1:${service} check inter 200ms
backend new_check
  option httpchk
  http-check send meth GET uri /health ver HTTP/1.1 hdr Host localhost
  server drover 127.0.0.1:${service} check inter 200ms
`;

const nginxConfig = (ports: Proxies, service: number): string => `
daemon off;
pid @DIR@/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
  client_body_temp_path @DIR@/body;
  proxy_temp_path @DIR@/proxy;
  fastcgi_temp_path @DIR@/fastcgi;
  uwsgi_temp_path @DIR@/uwsgi;
  scgi_temp_path @DIR@/scgi;
  upstream drover { server 127.0.0.1:${service}; keepalive 1; }
  server {
    listen 127.0.0.1:${ports.nginx};
    location / {
      proxy_pass http://drover;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
    }
  }
  server {
    listen 127.0.0.1:${ports.nginxStock};
    location / { proxy_pass http://127.0.0.1:${service}; }
  }
}
`;

describe.each(['uws', 'node'])('engine %s', (engine) => {
  let service: Service;
  let token: string;
  let ports: Proxies;
  const daemons: Daemon[] = [];
  beforeAll(async () => {
    service = await startService({ args: ['--engine', engine] });
    token = await service.token();
    ports = await proxyPorts();
    daemons.push(
      await startDaemon({
        command: 'haproxy',
        package: 'haproxy',
        args: (dir) => ['-W', '-db', '-f', `${dir}/haproxy.cfg`],
        ready: /Loading success/,
        files: { 'haproxy.cfg': haproxyConfig(ports, service.port) },
      }),
      await startDaemon({
        command: 'nginx',
        package: 'nginx-light',
        args: (dir) => ['-p', dir, '-c', `${dir}/nginx.conf`],
        ready: /start worker process/,
        files: { 'nginx.conf': nginxConfig(ports, service.port) },
      }),
    );
  });
  afterAll(async () => {
    for (const daemon of daemons.splice(0)) await daemon.stop();
    await stopClean(service);
  });

  const request = (target: string, lines: readonly string[], body = ''): string =>
    `${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

  /** Sends what may be a malformed request, and leaves when the proxy has responded or closed. */
  async function attack(port: number, bytes: string): Promise<void> {
    const connection = await RawConnection.open(port);
    await connection.send(bytes);
    await connection.response().catch(() => undefined);
    connection.close();
  }

  /** Every client of the proxy gets the response to its own request. */
  async function expectUnharmed(port: number): Promise<void> {
    for (let n = 0; n < VICTIMS; n++) {
      const path = `/api/bots/victim-${n}`;
      const answer = await raw(port, request(`GET ${path}`, []));
      expect([answer.status, answer.body]).toEqual([404, `{"error":"no bot \\"victim-${n}\\""}`]);
    }
  }

  const hidden = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';
  const attacks = [
    ...Object.values({ ...LENGTHS, ...CODINGS }).flatMap((lines) =>
      ['POST /invoke', 'GET /health', 'DELETE /api/tokens/x'].flatMap((target) => [
        { target, lines, body: `{}${hidden}` },
        { target, lines, body: chunked(PING) + hidden },
        // What one side leaves unread waits for the next client's request.
        { target, lines, body: chunked(PING) },
      ]),
    ),
    { target: 'POST /invoke', lines: ['Content-Length: 70000'], body: hidden },
    { target: `GET /${'a'.repeat(9000)}`, lines: [], body: hidden },
    // uWebSockets.js does not see what follows a header without a name.
    { target: 'GET /health', lines: [': x', `Content-Length: ${hidden.length}`], body: hidden },
    { target: 'POST /invoke', lines: [CHUNKED], body: `0\r\n${hidden}` },
    { target: 'POST /invoke', lines: [CHUNKED], body: `2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n` },
  ];

  it.each(['haproxy', 'nginx'] as const)(
    'no request harms another one behind %s',
    async (proxy) => {
      const port = ports[proxy];
      for (const { target, lines, body } of attacks) {
        await attack(port, request(target, lines, body));
      }
      await expectUnharmed(port);
      // Beside each other: an attack takes the connection that a client's next request would use.
      await Promise.all([
        ...attacks.map(({ target, lines, body }) => attack(port, request(target, lines, body))),
        ...Array.from({ length: 4 }, () => expectUnharmed(port)),
      ]);
      for (const { target, lines, body } of attacks) {
        await attack(port, request(target, lines, body));
        const answer = await raw(port, request('GET /api/bots/next', []));
        expect([target, lines, answer.status]).toEqual([target, lines, 404]);
      }
    },
  );

  it.each(['haproxy', 'nginx'] as const)('%s forwards chunked bodies', async (proxy) => {
    for (let n = 0; n < 3; n++) {
      const answer = await raw(ports[proxy], request('POST /invoke', [CHUNKED], chunked(PING, 10)));
      expect([answer.status, answer.body]).toEqual([200, '{"result":"pong"}']);
    }
  });

  it('HAProxy forwards bodies of HTTP/2 without a length', async () => {
    const session = connect(`http://127.0.0.1:${ports.haproxyH2}`);
    try {
      for (let n = 0; n < 3; n++) {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/invoke',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
        });
        stream.write(PING.slice(0, 10));
        stream.end(PING.slice(10));
        let text = '';
        for await (const part of stream) text += String(part);
        expect(text).toBe('{"result":"pong"}');
      }
    } finally {
      session.close();
    }
  });

  it('the health checks of HAProxy: HTTP/1.1 on both engines, HTTP/1.0 on node:http', async () => {
    const state = async (backend: string): Promise<string | undefined> => {
      const { body } = await raw(
        ports.haproxyStats,
        'GET /stats;csv HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      );
      return /,(L\d[A-Z]+),/.exec(
        body.split('\n').find((l) => l.startsWith(`${backend},drover`)) ?? '',
      )?.[1];
    };
    await expect.poll(() => state('new_check')).toBe('L7OK');
    const isNode = service.engine === 'node:http';
    await expect.poll(() => state('old_check')).toBe(isNode ? 'L7OK' : 'L7STS');
  });

  it('nginx without settings, which sends HTTP/1.0: everything on node:http, 505 on uWebSockets.js', async () => {
    const isNode = service.engine === 'node:http';
    const length = `Content-Length: ${PING.length}`;
    const requests = [
      request('GET /health', []),
      request('GET /', []),
      request('POST /invoke', [length], PING),
    ];
    for (const bytes of requests) {
      expect((await raw(ports.nginxStock, bytes)).status).toBe(isNode ? 200 : 505);
    }
    if (!isNode) return;
    const connection = await RawConnection.open(ports.nginxStock);
    await connection.send(request('GET /events', []));
    await expect.poll(() => connection.unread()).toContain('retry: ');
    connection.close();
  });
});
