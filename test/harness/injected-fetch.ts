import { Readable } from 'node:stream';
import type { DroverClientOptions } from '../../src/client/index.js';
import type { InjectedService } from './inject.js';

/** For a client of an injected service. A body that is not read causes backpressure, as a connection would. */
export function injectedFetch(service: InjectedService): NonNullable<DroverClientOptions['fetch']> {
  return async (url, { method, headers, body, signal }) => {
    signal?.throwIfAborted();
    const { pathname, search } = new URL(url);
    const request = { method, target: `${pathname}${search}`, headers };
    const response = await service.inject(body === undefined ? request : { ...request, body });
    signal?.addEventListener('abort', () => response.destroy(), { once: true });
    const { statusCode: status } = response;
    if (status === 204) return new Response(null, { status });
    // By default it would buffer any number of bytes: it counts chunks.
    const strategy = new ByteLengthQueuingStrategy({ highWaterMark: 16_384 });
    const stream = Readable.toWeb(response, { strategy }) as ReadableStream<Uint8Array>;
    return new Response(stream, { status, headers: response.headers });
  };
}
