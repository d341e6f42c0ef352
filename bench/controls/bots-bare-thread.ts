// Runs in a worker thread of controls/bots-bare.ts, and in a second one as the world. Each bot has only what its kind needs:
// state, data, an AbortController, a timer, a connection.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** A request from the loop. */
export interface BareRequest {
  request: number;
  ask: 'create' | 'invoke' | 'list';
  body: CreateBody & InvokeBody;
}

/** The reply, ready to send. */
export interface BareAnswer {
  request: number;
  json: string;
}

interface CreateBody {
  id: string;
  kind: string;
  config: { port?: number };
}

interface InvokeBody {
  session_id: string | null;
  command: string;
  args: Record<string, unknown>;
}

interface BareBot {
  id: string;
  kind: string;
  config: CreateBody['config'];
  status: string;
  sinceMs: number;
  data: { x: number; y: number };
  state: { connection: Socket | undefined; waiting: Set<(line: string) => void> };
  abort: AbortController;
  timer: NodeJS.Timeout;
}

const NEVER_MS = 3_600_000;
/** Marks the thread that is the world. */
const WORLD = 'world';

if (isMainThread || !parentPort) throw new Error('controls/bots-bare-thread runs in a thread only');
const port = parentPort;
if (workerData === WORLD) beWorld();
else beHost();

/** Echoes each line. */
function beWorld(): void {
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1', () => port.postMessage((server.address() as AddressInfo).port));
}

function beHost(): void {
  const bots = new Map<string, BareBot>();
  port.on('message', async ({ request, ask, body }: BareRequest) => {
    const answer: BareAnswer = { request, json: JSON.stringify(await answerTo(ask, body)) };
    port.postMessage(answer);
  });

  function answerTo(ask: BareRequest['ask'], body: BareRequest['body']): unknown {
    if (ask === 'list') return { count: bots.size };
    if (ask === 'create') return create(body);
    if (body.command === 'move') return move(body.args);
    if (body.command === 'echo') return { result: { said: body.args['text'] } };
    return { result: 'pong' };
  }

  async function create({ id, kind, config }: CreateBody): Promise<object> {
    const bot: BareBot = {
      id,
      kind,
      config,
      status: 'in_world',
      sinceMs: Date.now(),
      data: { x: 1, y: 1 },
      state: { connection: undefined, waiting: new Set() },
      abort: new AbortController(),
      timer: setInterval(() => {}, NEVER_MS),
    };
    bots.set(id, bot);
    if (config.port) {
      const socket = connect({ host: '127.0.0.1', port: config.port });
      await once(socket, 'connect');
      bot.state.connection = socket;
    }
    live(bot).catch(() => {});
    return { id, kind, status: bot.status, since_ms: bot.sinceMs, data: bot.data };
  }
}

async function live({ abort, state }: BareBot): Promise<void> {
  if (state.connection) {
    for await (const chunk of state.connection) {
      for (const waiter of state.waiting) waiter(String(chunk));
    }
    return;
  }
  await new Promise((resolve) => abort.signal.addEventListener('abort', resolve, { once: true }));
}

let world: Promise<Socket> | undefined;

/** One line to the world and back, one at a time: the next line is the reply. */
async function move({ x, y }: Record<string, unknown>): Promise<object> {
  world ??= connectToWorld();
  const socket = await world;
  const answered = once(socket, 'data');
  socket.write(`Move x="${x}" y="${y}"\n`);
  await answered;
  return { result: { x, y } };
}

async function connectToWorld(): Promise<Socket> {
  const thread = new Worker(new URL(import.meta.url), { workerData: WORLD });
  const [worldPort] = (await once(thread, 'message')) as [number];
  const socket = connect({ host: '127.0.0.1', port: worldPort });
  socket.setNoDelay(true);
  await once(socket, 'connect');
  return socket;
}
