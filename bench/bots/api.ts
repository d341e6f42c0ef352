// An HTTP client with keep-alive connections, as cheap as possible: the same two cores send and serve the requests.

import { Agent, request } from 'node:http';

/** Maximum concurrent requests, also of `createBots`. */
export const IN_FLIGHT = 64;

export interface ApiAnswer {
  status: number;
  text: string;
}

/** The API of one server, with one token. Close it after use. */
export class Api {
  readonly #url: string;
  readonly #authorization: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });

  constructor(url: string, token: string) {
    this.#url = url;
    this.#authorization = `Bearer ${token}`;
  }

  /** @returns the whole response, with any status. Rejects when there is none. */
  ask(method: string, path: string, body?: object): Promise<ApiAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      authorization: this.#authorization,
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const asked = request(this.#url + path, { method, headers, agent: this.#agent }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        );
      });
      asked.on('error', reject);
      asked.end(text);
    });
  }

  /** The JSON of the response. @throws Error for an unexpected status. */
  async expect<T>(status: number, method: string, path: string, body?: object): Promise<T> {
    const answer = await this.ask(method, path, body);
    if (answer.status !== status) {
      const start = answer.text.slice(0, 200);
      throw new Error(`${method} ${path} was answered ${answer.status} ${start}`);
    }
    return (answer.text === '' ? null : JSON.parse(answer.text)) as T;
  }

  /** Creates `count` bots of the bench's kind, numbered from `first`, {@link IN_FLIGHT} at a time. */
  async createBots(first: number, count: number, port: number): Promise<void> {
    let next = first;
    const create = async () => {
      while (next < first + count) {
        const body = { id: botId(next++), kind: 'bench-idle', config: { port } };
        await this.expect(201, 'POST', '/api/bots', body);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, create));
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function botId(number: number): string {
  return `bench-${String(number).padStart(5, '0')}`;
}
