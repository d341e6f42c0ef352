// Many clients that send their heads and bodies slowly. Others are served, a stream continues, and the slow ones are
// closed. docs/ENGINES.md (Slow clients) has the results of `npm run long -- slowhttp`.

import { readdirSync } from 'node:fs';
import net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { RawStream } from '../harness/raw-stream.js';
import { startService, stopClean } from '../harness/service.js';

const EACH = 200;
const DRIP_MS = 500;

const HEAD = 'GET /health HTTP/1.1\r\nHost: a\r\n';
const BODY =
  'POST /auth/pin HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n{';

it(`${EACH} slow heads and ${EACH} slow bodies delay no other client, and are closed`, async () => {
  const service = await startService({
    config: {
      http: { header_timeout_ms: 3000, idle_timeout_ms: 3000, body_timeout_ms: 3000 },
      stream: { heartbeat_ms: 200 },
    },
  });
  onTestFinished(() => stopClean(service));
  const token = await service.token();
  const stream = await RawStream.open(service.port, { token });
  onTestFinished(() => stream.close());
  const openFiles = (): number => readdirSync(`/proc/${service.child.pid}/fd`).length;
  const canLook = process.platform === 'linux';
  const filesBefore = canLook ? openFiles() : 0;

  let open = 0;
  const closed = Array.from({ length: 2 * EACH }, (_, n) => {
    const socket = net.connect({ port: service.port, host: '127.0.0.1' });
    const drip = setInterval(() => socket.write(n % 2 ? 'x' : 'X: y\r\n'), DRIP_MS);
    onTestFinished(() => {
      socket.destroy();
    });
    return new Promise<void>((resolve) => {
      socket.once('connect', () => {
        open += 1;
        socket.write(n % 2 ? BODY : HEAD);
      });
      socket.on('error', () => {});
      socket.resume();
      socket.once('close', () => {
        clearInterval(drip);
        resolve();
      });
    });
  });
  await expect.poll(() => open).toBe(2 * EACH);
  for (let n = 0; n < 20; n++) {
    expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
    const ping = await call(service, 'POST', '/invoke', {
      token,
      body: { session_id: null, command: 'ping' },
    });
    expect(ping.json).toEqual({ result: 'pong' });
  }
  const before = stream.bodyBytes;
  await stream.until(() => stream.bodyBytes > before);
  await Promise.all(closed);
  expect(stream.isOver).toBe(false);
  if (canLook) {
    await expect.poll(openFiles).toBeLessThanOrEqual(filesBefore + 5);
  }
});
