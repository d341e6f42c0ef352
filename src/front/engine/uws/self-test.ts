// Runs in a front thread, and in `drover doctor`. Owns an app on another port, for a moment: what the binary of
// uWebSockets.js does with two requests decides whether it is used. Its version does not tell: docs/ENGINES.md.

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js';
import net from 'node:net';

/** The start of a request is often cut: a long URL needs several segments. */
export const CUT_FAULT = 'refuses a request whose first line arrives in pieces';
/** The binary may lose the length too, and then answer the body as another request (docs/decisions/0043). */
export const NAMELESS_FAULT = 'hides headers that follow one without a name';
const SILENT_FAULT = 'did not respond to a self-test on 127.0.0.1';

/** The test takes some ms. This limit only ends one whose packets are lost. */
const LIMIT_MS = 5_000;

const CUT = 'GET /cut HTTP/1.1\r\nHost: a\r\n\r\n';
/** The request is cut at every position of its first line. */
const FIRST_LINE_BYTES = CUT.indexOf('\r\n') + 2;
const NAMELESS = 'GET /nameless HTTP/1.1\r\nHost: a\r\n: x\r\nBehind: y\r\n\r\n';

/** Tries the loaded binary. @returns its faults, in words that follow "the binary"; none when it can be used. */
export async function selfTest(): Promise<string[]> {
  const faults: string[] = [];
  const app = uws
    .App()
    .get('/cut', (res) => void res.end())
    .get('/nameless', (res, req) => {
      if (!shows(req, 'behind')) faults.push(NAMELESS_FAULT);
      res.end();
    })
    .any('/*', (res: HttpResponse) => void res.end());
  try {
    const port = await listen(app);
    const limit = AbortSignal.timeout(LIMIT_MS);
    const [cut] = await Promise.all([
      statusOf(port, CUT, FIRST_LINE_BYTES, limit),
      // The request was refused or answered: the handler has seen which.
      statusOf(port, NAMELESS, 0, limit),
    ]);
    if (cut !== '200') faults.unshift(CUT_FAULT);
  } catch {
    faults.push(SILENT_FAULT);
  } finally {
    app.close();
  }
  return faults;
}

function shows(req: HttpRequest, name: string): boolean {
  let found = false;
  req.forEach((key) => {
    found ||= key === name;
  });
  return found;
}

function listen(app: uws.TemplatedApp): Promise<number> {
  return new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket: us_listen_socket | false) => {
      if (socket) resolve(uws.us_socket_local_port(socket));
      else reject(new Error('cannot listen'));
    });
  });
}

/**
 * Sends a request, the first bytes of it one by one.
 * @returns the status of the response, '' when the connection was closed without one. @throws Error when nothing comes.
 */
async function statusOf(
  port: number,
  request: string,
  single: number,
  signal: AbortSignal,
): Promise<string> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
  const answer = new Promise<string>((resolve, reject) => {
    socket.once('data', (data) => resolve(data.toString('latin1').split(' ', 2)[1] ?? ''));
    // A reset is an end too.
    socket.on('error', () => {}).once('close', () => resolve(''));
    signal.addEventListener('abort', () => reject(new Error('no answer')), { once: true });
  });
  answer.catch(() => {});
  try {
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    for (let at = 0; at < single; at++) {
      socket.write(request[at] as string);
      await turns();
    }
    socket.write(request.slice(single));
    return await answer;
  } finally {
    socket.destroy();
  }
}

/** Until the app has read what was written: it is on the same event loop, which reads once in a turn. */
async function turns(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
}
