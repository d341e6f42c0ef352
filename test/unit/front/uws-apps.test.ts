// Run by vitest. Of the apps that certificates leave behind on uWebSockets.js only those stay that have connections. Real
// sockets; only the closing of an app is listened to, because nothing else shows it.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ConnectionGate } from '../../../src/front/engine/engine.js';
import { RawConnection, requestBytes } from '../../harness/http.js';
import { skipWithout } from '../../harness/needs.js';
import { partial } from '../../harness/partial.js';
import { PATIENCE_MS } from '../../harness/patience.js';
import { freePort } from '../../harness/ports.js';

// Not every system has a binary (docs/ENGINES.md).
const loaded = await Promise.all([
  import('uWebSockets.js'),
  import('../../../src/front/engine/uws/uws.js'),
]).catch(() => undefined);

it('an app that does not listen any more is closed with its last connection', async (context) => {
  skipWithout(context, loaded !== undefined, 'a binary of uWebSockets.js');
  const [{ default: uws }, { uwsEngine }] = loaded as NonNullable<typeof loaded>;
  const closed: number[] = [];
  const make = uws.App;
  let made = 0;
  vi.spyOn(uws, 'App').mockImplementation(() => {
    const app = make();
    const number = made++;
    const close = app.close.bind(app);
    app.close = () => {
      closed.push(number);
      return close();
    };
    return app;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const connections = { entered: () => undefined, left: () => {}, hasCrowd: false };
  const engine = uwsEngine.create(
    (exchange) =>
      exchange.respond({ status: 200, headers: ['Content-Type', 'text/plain'], body: 'ok' }),
    new Map(),
    {
      responded: () => {},
      tls: null,
      ciphers: [],
      connections: partial<ConnectionGate>(connections),
      maxUrlBytes: 100,
      maxHeaderBytes: 4096,
      headerTimeoutMs: 1000,
      bodyTimeoutMs: 1000,
      idleTimeoutMs: 1000,
    },
  );
  onTestFinished(() => engine.close());
  const port = await engine.listen('127.0.0.1', await freePort(), false);
  const ask = async (connection: RawConnection): Promise<string> => {
    await connection.send(requestBytes('GET', '/health'));
    return (await connection.response()).body;
  };
  const change = async (): Promise<void> => {
    engine.prepareTls(null as never).commit();
    await turn();
    await turn();
  };
  const first = await RawConnection.open(port);
  expect(await ask(first)).toBe('ok');
  for (let n = 0; n < 3; n++) await change();
  expect(closed).toEqual([1, 2]);
  // Its connection stays open.
  expect(await ask(first)).toBe('ok');
  const second = await RawConnection.open(port);
  expect(await ask(second)).toBe('ok');
  first.close();
  await vi.waitFor(() => expect(closed).toEqual([1, 2, 0]), PATIENCE_MS);
  expect(await ask(second)).toBe('ok');
  second.close();
  await change();
  await vi.waitFor(() => expect(closed).toEqual([1, 2, 0, 3]), PATIENCE_MS);
  const third = await RawConnection.open(port);
  expect(await ask(third)).toBe('ok');
  third.close();
});
