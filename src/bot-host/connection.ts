// Runs in a bot host thread. Owns a bot's TCP and TLS connections.

import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type {
  Describe,
  LineConnection,
  LineConnectionOptions,
  Logger,
  TcpConnection,
  TcpOptions,
} from '../bot-sdk/index.js';
import { LineSplitter } from '../bot-sdk/line-splitter.js';
import type { Fence } from './fence.js';

const MAX_LINE_BYTES = 65_536;
/** Bytes that may wait for a slow server. The next message after that ends the connection with an error. */
const MAX_WAITING_BYTES = 1_048_576;

/**
 * Opens a connection; rejects when that fails or `signal` is aborted. Received bytes wait in the socket until they are
 * iterated over, so a slow bot causes backpressure instead of a growing queue.
 */
export async function connectTcp(
  options: TcpOptions,
  describe: Describe<Uint8Array>,
  log: Logger,
  signal: AbortSignal,
  fence: Fence | null = null,
): Promise<TcpConnection> {
  const socket = await open(options, signal, fence);
  return {
    async send(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      show(log, 'outgoing', describe(bytes, 'outgoing'));
      await write(socket, bytes, fence);
    },
    close: () => socket.destroy(),
    async *[Symbol.asyncIterator]() {
      await letOthersRun(socket);
      for await (const chunk of socket) {
        show(log, 'incoming', describe(chunk as Buffer, 'incoming'));
        yield chunk as Buffer;
      }
    },
  };
}

/** Opens a connection with one message per line. */
export async function connectLines(
  options: LineConnectionOptions,
  log: Logger,
  signal: AbortSignal,
  fence: Fence | null = null,
): Promise<LineConnection> {
  const { describe, maxLineBytes = MAX_LINE_BYTES } = options;
  const socket = await open(options, signal, fence);
  return {
    async send(line) {
      if (/[\r\n]/.test(line)) throw new RangeError('a line must not hold a line break');
      show(log, 'outgoing', describe(line, 'outgoing'));
      await write(socket, `${line}\n`, fence);
    },
    close: () => socket.destroy(),
    async *[Symbol.asyncIterator]() {
      const splitter = new LineSplitter(maxLineBytes);
      await letOthersRun(socket);
      for await (const chunk of socket) {
        for (const line of splitter.push(chunk as Buffer)) {
          show(log, 'incoming', describe(line, 'incoming'));
          yield line;
        }
      }
      const last = splitter.end();
      if (last === undefined) return;
      show(log, 'incoming', describe(last, 'incoming'));
      yield last;
    },
  };
}

async function open(
  { host, port, tls }: TcpOptions,
  signal: AbortSignal,
  fence: Fence | null,
): Promise<Socket> {
  signal.throwIfAborted();
  fence?.check();
  const socket = tls
    ? connectTls({ servername: isIP(host) ? '' : host, ...(tls === true ? {} : tls), host, port })
    : connectPlain({ host, port });
  socket.setNoDelay(true);
  const destroy = () => socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener('abort', destroy, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', destroy));
  await once(socket, tls ? 'secureConnect' : 'connect');
  // An error ends the iteration. This listener handles errors that come while nobody iterates.
  socket.on('error', () => {});
  return socket;
}

/** For a loop that catches every error and iterates again over a socket that is gone. */
async function letOthersRun(socket: Socket): Promise<void> {
  if (socket.destroyed) await nextTurn();
}

function write(socket: Socket, data: string | Uint8Array, fence: Fence | null): Promise<void> {
  try {
    fence?.check();
  } catch (thrown) {
    socket.destroy(thrown as Error);
  }
  if (socket.writableLength > MAX_WAITING_BYTES) {
    socket.destroy(
      new Error(`more than ${MAX_WAITING_BYTES} bytes wait to be sent: the server does not read`),
    );
  }
  return new Promise((resolve, reject) => {
    const { errored } = socket;
    if (errored) {
      setImmediate(() => reject(errored));
      return;
    }
    socket.write(data, (error) => (error ? reject(socket.errored ?? error) : resolve()));
  });
}

function show(
  log: Logger,
  direction: 'outgoing' | 'incoming',
  described: ReturnType<Describe<never>>,
): void {
  if (described === null) return;
  if (typeof described === 'string') log.wire('tcp', direction, described);
  else log.wire('tcp', direction, described.message, described);
}
