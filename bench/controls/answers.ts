// Runs in control processes. Owns their ready answers: as long as the service's, made once, without any logic.

import { parseArgs } from 'node:util';

/** What a control answers, and what it compares the Authorization header with. */
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

/** Reads `--token <token> --bots-bytes <size>` of the command line: the size of the service's own answer. */
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

/** `{"bots":[` … `]}` filled up with one string, to the byte. */
function listOfSize(bytes: number): Buffer {
  const [open, close] = bytes < 13 ? ['{"bots":[', ']}'] : ['{"bots":["', '"]}'];
  return Buffer.from(open + '-'.repeat(Math.max(0, bytes - open.length - close.length)) + close);
}

/** Says that it listens, and ends when asked to, or when the bench that started it is gone. */
export function announce(port: number): void {
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`);
  process.once('SIGTERM', () => process.exit(0));
  process.once('disconnect', () => process.exit(0));
}
