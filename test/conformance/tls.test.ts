// Issue 5 "TLS": certificate and key from files, reloaded on SIGHUP without a stream noticing.

import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Certificate, makeCertificate } from '../harness/certificate.js';
import { negotiate, protocolOf, TLS_1_1, TLS_1_2 } from '../harness/client-hello.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { skipWithout } from '../harness/needs.js';
import {
  frontFlags,
  makeDir,
  removeDir,
  runToExit,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';

let dir: string;
let first: Certificate;
let second: Certificate;
let rsa: Certificate;
beforeAll(() => {
  dir = makeDir();
  first = makeCertificate(dir, 'first', 1);
  second = makeCertificate(dir, 'second', 2);
  rsa = makeCertificate(dir, 'rsa', 4, { isRsa: true });
});
afterAll(() => removeDir(dir));

/** Ciphers of the default list, by the key of the certificate. */
const GOOD: Record<'ecdsa' | 'rsa', readonly number[]> = {
  ecdsa: [0xc02b, 0xc02c, 0xcca9],
  rsa: [0xc02f, 0xc030, 0xcca8],
};
/** 3DES, key exchange without forward secrecy, CBC, RC4, and none at all. */
const BAD = [
  ...[0x000a, 0xc008, 0xc012, 0x0016],
  ...[0x009c, 0x009d, 0x002f, 0x0035, 0x003c, 0x003d],
  ...[0xc009, 0xc00a, 0xc013, 0xc014, 0xc023, 0xc027],
  ...[0x0005, 0x0002, 0x003b],
];

interface Asked {
  status: number;
  serial: string;
  body: string;
  hsts: string | undefined;
}

/** One request on its own connection. */
function ask(
  port: number,
  ca: Certificate[],
  { method = 'GET', target = '/health', headers = {}, body = '' } = {},
): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        port,
        host: '127.0.0.1',
        path: target,
        method,
        headers: { ...headers, ...(body === '' ? {} : { 'Content-Type': 'application/json' }) },
        ca: ca.map(({ certPem }) => certPem),
        agent: false,
      },
      (response) => {
        const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            serial: serialNumber,
            body: text,
            hsts: response.headers['strict-transport-security'],
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** A stream over TLS. */
class TlsStream {
  text = '';
  isOver = false;
  readonly #request: ReturnType<typeof https.request>;
  #changed: () => void = () => {};

  constructor(
    port: number,
    ca: Certificate,
    token: string,
    { target = '/events', lastEventId = '' } = {},
  ) {
    this.#request = https.request(
      {
        port,
        host: '127.0.0.1',
        path: target,
        headers: { Authorization: `Bearer ${token}`, 'Last-Event-ID': lastEventId },
        ca: ca.certPem,
        agent: false,
      },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          this.text += part;
          this.#changed();
        });
        response.on('close', () => {
          this.isOver = true;
          this.#changed();
        });
        response.on('error', () => {});
      },
    );
    this.#request.on('error', () => {
      this.isOver = true;
      this.#changed();
    });
    this.#request.end();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.isOver) throw new Error('the stream ended');
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  close(): void {
    this.#request.destroy();
  }
}

describe('a service with a certificate', () => {
  let service: Service;
  let token: string;
  let cert: string;
  let key: string;
  // One for all tests here, in their order: each leaves the first certificate in use.
  beforeAll(async () => {
    cert = path.join(dir, 'used.crt');
    key = path.join(dir, 'used.key');
    use(first);
    service = await startService({
      args: frontFlags(2),
      config: {
        tls: { cert, key },
        drills: { enabled: true },
        bots: [
          { id: 'a', kind: 'synthetic', config: { events_per_second: 100, message_bytes: 500 } },
        ],
      },
    });
    const body = JSON.stringify({ pin: service.pin });
    const exchanged = await ask(service.port, [first], {
      method: 'POST',
      target: '/auth/pin',
      body,
    });
    ({ token } = JSON.parse(exchanged.body) as { token: string });
  });
  afterAll(() => stopClean(service));

  function use(certificate: Certificate): void {
    copyFileSync(certificate.certPath, cert);
    copyFileSync(certificate.keyPath, key);
  }

  /** Has the service use a certificate from now on. @param before the one that it uses until then. */
  async function useNow(certificate: Certificate, before: Certificate): Promise<void> {
    use(certificate);
    // Of several with the same name, TLS of the client would try one alone.
    const lines = new TlsStream(service.port, before, token, { target: '/events?scope=drover' });
    await lines.until(() => lines.text.includes(': position '));
    service.child.kill('SIGHUP');
    // Until then a connection to uWebSockets.js can be reset (docs/ENGINES.md).
    await lines.until(() => lines.text.includes('certificate and key were reloaded'));
    lines.close();
    for (let n = 0; n < 8; n++) {
      expect((await ask(service.port, [certificate])).serial).toBe(certificate.serial);
    }
  }

  it('speaks HTTPS, says so, and warns of nothing', async () => {
    expect(service.stdout()).toContain('\nlistening on https://127.0.0.1:');
    expect(service.stderr()).toBe('');
    const { status, serial, body } = await ask(service.port, [first]);
    expect([status, serial, body]).toEqual([200, first.serial, 'ok']);
    const listed = await ask(service.port, [first], {
      target: '/api/bots',
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(listed.status).toBe(200);
  });

  it('responses say that this host is for HTTPS only', async () => {
    const headers = { Authorization: `Bearer ${token}` };
    for (const target of ['/health', '/', '/api/bots', '/nope']) {
      const { hsts } = await ask(service.port, [first], { target, headers });
      expect([target, hsts]).toEqual([target, 'max-age=15552000']);
    }
  });

  it.runIf(process.platform !== 'win32')(
    'the key exchange has forward secrecy, from TLS 1.2 on, also after a reload',
    async () => {
      const certificates = [
        [first, GOOD.ecdsa],
        [rsa, GOOD.rsa],
      ] as const;
      for (const [certificate, good] of certificates) {
        await useNow(certificate, first);
        for (const cipher of good) {
          expect(await negotiate(service.port, TLS_1_2, [cipher])).toEqual([TLS_1_2, cipher]);
        }
        for (const cipher of BAD) {
          expect(await negotiate(service.port, TLS_1_2, [cipher])).toBe('refused');
        }
        expect(await negotiate(service.port, TLS_1_2, [...BAD, ...good])).toEqual([
          TLS_1_2,
          expect.toSatisfy((cipher: number) => good.includes(cipher)),
        ]);
        const offered = [...GOOD.ecdsa, ...GOOD.rsa, ...BAD];
        expect(await negotiate(service.port, TLS_1_1, offered)).toBe('refused');
        expect(await protocolOf(service.port)).toBe('TLSv1.3');
      }
      await useNow(first, rsa);
    },
  );

  it('a stream carries whole frames in order, two megabytes of them', async () => {
    const headers = { Authorization: `Bearer ${token}` };
    const config = { events_per_second: 2000, message_bytes: 500 };
    const body = JSON.stringify({ id: 'many', kind: 'synthetic', config });
    const created = await ask(service.port, [first], {
      method: 'POST',
      target: '/api/bots',
      headers,
      body,
    });
    expect(created.status, created.body).toBe(201);
    const stream = new TlsStream(service.port, first, token);
    await stream.until(() => stream.text.length > 2_000_000);
    stream.close();
    const deleted = { method: 'DELETE', target: '/api/bots/many', headers };
    expect((await ask(service.port, [first], deleted)).status).toBe(204);
    const ids = [...stream.text.matchAll(/^id: [0-9a-f]+-(\d+)\nevent: .*\ndata: (\{.*\})\n\n/gm)];
    const numbers = ids.map(([, number]) => Number(number));
    expect(numbers.length).toBeGreaterThan(2000);
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    for (const [, , data = ''] of ids) JSON.parse(data);
  });

  it('plain HTTP gets no answer in the clear', async () => {
    const connection = await RawConnection.open(service.port);
    await connection.send(requestBytes('GET', '/health'));
    await connection.ended(30_000);
    expect(connection.unread()).not.toContain('200');
    connection.close();
    expect((await ask(service.port, [first])).status).toBe(200);
  });

  it.runIf(process.platform !== 'win32')(
    'on SIGHUP new connections get the new certificate, and streams continue; a broken one changes nothing',
    async () => {
      const stream = new TlsStream(service.port, first, token);
      await stream.until(() => stream.text.includes('event: log'));
      // Of the service's own lines alone, so that this client is never too slow for them.
      const lines = new TlsStream(service.port, first, token, { target: '/events?scope=drover' });
      await lines.until(() => lines.text.includes(': position '));
      use(second);
      service.child.kill('SIGHUP');
      await lines.until(() => lines.text.includes('certificate and key were reloaded'));
      for (let n = 0; n < 8; n++) {
        expect((await ask(service.port, [second])).serial).toBe(second.serial);
      }
      await expect(ask(service.port, [first])).rejects.toThrow();

      writeFileSync(key, 'no key');
      service.child.kill('SIGHUP');
      await lines.until(() => lines.text.includes('certificate and key stay as they were'));
      copyFileSync(first.keyPath, key);
      service.child.kill('SIGHUP');
      await lines.until(() => lines.text.includes('key values mismatch'));
      expect((await ask(service.port, [second])).serial).toBe(second.serial);

      const { length } = stream.text;
      await stream.until(() => stream.text.length > length + 20_000);
      stream.close();
      lines.close();
      await useNow(first, second);
    },
  );

  it.runIf(process.platform !== 'win32')(
    'a certificate that main can read and a front cannot changes nothing in any front, on every attempt',
    async (context) => {
      const isNode = service.engine === 'node:http';
      skipWithout(context, !isNode, 'uWebSockets.js: node:http reads certificates as main does');
      const stream = new TlsStream(service.port, first, token, { target: '/events?scope=drover' });
      await stream.until(() => stream.text.includes(': position '));
      use(makeCertificate(dir, 'loose', 3, { isLoose: true }));
      for (let times = 1; times <= 3; times++) {
        service.child.kill('SIGHUP');
        const line =
          /certificate and key stay as they were: BoringSSL cannot use the certificate [^"]*used\.crt with the key [^"]*used\.key"/g;
        await stream.until(() => [...stream.text.matchAll(line)].length === times);
      }
      for (let n = 0; n < 8; n++) {
        expect((await ask(service.port, [first])).serial).toBe(first.serial);
      }
      use(second);
      service.child.kill('SIGHUP');
      await stream.until(() => stream.text.includes('certificate and key were reloaded'));
      for (let n = 0; n < 8; n++) {
        expect((await ask(service.port, [second])).serial).toBe(second.serial);
      }
      stream.close();
      await useNow(first, second);
    },
  );

  it('a replaced front uses what the others use, not what is in the files by then', async (context) => {
    skipWithout(
      context,
      frontFlags(2)[1] === '2',
      'a second front to watch from: Node 22.12 for node:http',
    );
    const stream = new TlsStream(service.port, first, token);
    await stream.until(() => stream.text.includes('event: log'));
    const [, id = ''] = /^id: (.*)\nevent: log/m.exec(stream.text) ?? [];
    stream.close();
    writeFileSync(key, 'no key');
    const drill = { session_id: null, command: 'drill', args: { kill: 'front', front: 0 } };
    const drilled = await ask(service.port, [first], {
      method: 'POST',
      target: '/invoke',
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify(drill),
    });
    expect(drilled.status, drilled.body).toBe(200);
    let other: TlsStream;
    do {
      // A stream that is still on the old front is cut.
      other = new TlsStream(service.port, first, token, {
        target: '/events?scope=drover',
        lastEventId: id,
      });
      await other.until(() => other.text.includes('front 0 was replaced')).catch(() => {});
    } while (other.isOver);
    expect(other.text).not.toContain('could not be restarted');
    // There is no copy of the key.
    if (process.platform === 'linux') {
      const copies = (): string[] =>
        readdirSync('/dev/shm').filter((name) => name.startsWith('drover-'));
      // Another service of this machine may be starting: its files have a name for a moment.
      await expect.poll(copies).toEqual([]);
    }
    use(first);
    for (let n = 0; n < 8; n++) expect((await ask(service.port, [first])).status).toBe(200);
    other.close();
  });

  it('a shutdown ends a stream with its last frame', async () => {
    const stream = new TlsStream(service.port, first, token);
    await stream.until(() => stream.text.includes('event: log'));
    expect(await service.stop()).toBe(0);
    await expect.poll(() => stream.isOver).toBe(true);
    expect(stream.text.endsWith('\n\n')).toBe(true);
    expect(stream.text).toContain('"message":"stopped"');
  });
});

describe('a start that cannot work', () => {
  const failing = async (tls: object): Promise<string> => {
    const config = path.join(dir, 'config.json');
    writeFileSync(config, JSON.stringify({ tls }));
    const ended = await runToExit([
      '--config',
      config,
      '--port',
      '0',
      '--data-dir',
      path.join(dir, 'data'),
    ]);
    expect(ended.code).toBe(1);
    expect(ended.stdout).toBe('');
    expect(ended.stderr).toMatch(/^drover: [^\n]+\n$/);
    return ended.stderr;
  };

  it('is refused with one line', async () => {
    expect(await failing({ cert: first.certPath, key: second.keyPath })).toContain('mismatch');
  });
});
