import { createServer } from 'node:net';

/** By error code. */
const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken',
  EADDRNOTAVAIL: 'the address is not of this machine',
  EINVAL: 'the address is not of this machine',
  EACCES: 'this user may not listen on the port',
  ENOTFOUND: 'the host name cannot be resolved',
  EAI_AGAIN: 'the host name cannot be resolved',
};

/**
 * Finds the reason why an address cannot be bound, by trying it: engines do not report one.
 * @returns undefined if it works this time.
 */
export function listenFault(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code = '', message }: NodeJS.ErrnoException) =>
      resolve(WORDS[code] ?? message),
    );
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
