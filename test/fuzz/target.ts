// Test harness of the fuzz tests. Owns a well-behaved client of the service under attack, over HTTP or HTTPS, which checks
// that other clients are served.

import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Service } from '../harness/service.js';

interface Sent {
  method?: string;
  path: string;
  token?: string;
  body?: object;
}

export class Target {
  readonly port: number;
  readonly isTls: boolean;
  token = '';
  /** Bytes received on the stream. */
  streamed = 0;
  /** Why the stream ended, which is an error. */
  ended: string | undefined;
  #stream: IncomingMessage | undefined;
  #arrived = (): void => {};

  private constructor(port: number, isTls: boolean) {
    this.port = port;
    this.isTls = isTls;
  }

  /** Logs in and opens a stream. */
  static async of({ port, pin }: Service, isTls: boolean): Promise<Target> {
    const target = new Target(port, isTls);
    const { json } = await target.ask({ method: 'POST', path: '/auth/pin', body: { pin } });
    target.token = (json as { token: string }).token;
    await target.#open();
    return target;
  }

  /** One request on its own connection. */
  async ask(sent: Sent): Promise<{ status: number; json: unknown }> {
    const response = await this.#send(sent);
    const text = Buffer.concat(await response.toArray()).toString();
    return { status: response.statusCode ?? 0, json: JSON.parse(text) };
  }

  /** Waits for more on the stream. */
  async hears(): Promise<void> {
    const { streamed } = this;
    while (this.streamed === streamed) {
      if (this.ended !== undefined) throw new Error(`the stream ended: ${this.ended}`);
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  close(): void {
    this.#stream?.destroy();
  }

  async #open(): Promise<void> {
    const stream = await this.#send({ path: '/events', token: this.token });
    if (stream.statusCode !== 200) throw new Error(`the stream was answered ${stream.statusCode}`);
    this.#stream = stream;
    // An invalid chunk is an error here too.
    const over = (why: string) => (): void => {
      this.ended ??= why;
      this.#arrived();
    };
    stream
      .on('data', (chunk: Buffer) => {
        this.streamed += chunk.length;
        this.#arrived();
      })
      .on('error', (error) => over(error.message)())
      .on('end', over('by the service'))
      .on('close', over('cut'));
  }

  #send({ method = 'GET', path, token = this.token, body }: Sent): Promise<IncomingMessage> {
    const options = {
      method,
      path,
      port: this.port,
      host: '127.0.0.1',
      agent: false,
      rejectUnauthorized: false,
      headers: {
        ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
        ...(body ? { 'Content-Type': 'application/json' } : {}),
      },
    };
    return new Promise((resolve, reject) => {
      (this.isTls ? https : http)
        .request(options, resolve)
        .on('error', reject)
        .end(body && JSON.stringify(body));
    });
  }
}
