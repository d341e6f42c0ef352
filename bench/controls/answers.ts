// Runs in control processes. Prepared responses, as long as the service's, without any logic.

import { parseArgs } from 'node:util';

/** The responses of a control, and its expected Authorization header. */
export interface Answers {
  authorization: string;
  health: string;
  locked: string;
  retryAfter: string;
  apiInfo(port: number): string;
  bots: Buffer;
}

export const TEXT = 'text/plain';
export const JSON_TYPE = 'application/json';

/** Reads `--token <token> --bots-bytes <size>` from the command line; the size is that of the service's response. */
export function answersFromArguments(): Answers {
  const { values } = parseArgs({
    options: {
      token: { type: 'string', default: '' },
      'bots-bytes': { type: 'string', default: '11' },
    },
  });
  const { token } = values;
  return {
    authorization: `Bearer ${token}`,
    health: 'ok',
    locked: '{"error":"locked, retry in 5s"}',
    retryAfter: '5',
    apiInfo: (port) => JSON.stringify({ port, token }),
    bots: listOfSize(Number(values['bots-bytes'])),
  };
}

/** `{"bots":[` … `]}` padded with one string to the exact size. */
function listOfSize(bytes: number): Buffer {
  const [open, close] = bytes < 13 ? ['{"bots":[', ']}'] : ['{"bots":["', '"]}'];
  return Buffer.from(open + '-'.repeat(Math.max(0, bytes - open.length - close.length)) + close);
}

/** `--cert <file> --key <file>` of the command line, both or none. */
export function certificateFromArguments(): { cert: string; key: string } | undefined {
  const options = { cert: { type: 'string' }, key: { type: 'string' } } as const;
  const { cert, key } = parseArgs({ options }).values;
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** Prints the listen line; ends on request, or when the bench is gone. */
export function announce(port: number, protocol: 'http' | 'https' = 'http'): void {
  process.stdout.write(`listening on ${protocol}://127.0.0.1:${port}\n`);
  process.once('SIGTERM', () => process.exit(0));
  process.once('disconnect', () => process.exit(0));
}
