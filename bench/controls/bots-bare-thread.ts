// Runs in a worker thread of controls/bots-bare.ts. Each bot has only what its kind needs: state, data, an AbortController, a
// timer.

import { isMainThread, parentPort } from 'node:worker_threads';

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
  config: object;
}

interface InvokeBody {
  session_id: string | null;
  command: string;
  args: Record<string, unknown>;
}

interface BareBot {
  id: string;
  kind: string;
  config: object;
  status: string;
  sinceMs: number;
  data: { x: number; y: number };
  state: { waiting: Set<(line: string) => void> };
  abort: AbortController;
  timer: NodeJS.Timeout;
}

const NEVER_MS = 3_600_000;

if (isMainThread || !parentPort) throw new Error('controls/bots-bare-thread runs in a thread only');
const port = parentPort;
const bots = new Map<string, BareBot>();

port.on('message', ({ request, ask, body }: BareRequest) => {
  const answer: BareAnswer = { request, json: JSON.stringify(answerTo(ask, body)) };
  port.postMessage(answer);
});

function answerTo(ask: BareRequest['ask'], body: BareRequest['body']): unknown {
  if (ask === 'list') return { count: bots.size };
  if (ask === 'create') return create(body);
  if (body.command === 'echo') return { result: { said: body.args['text'] } };
  return { result: 'pong' };
}

function create({ id, kind, config }: CreateBody): object {
  const bot: BareBot = {
    id,
    kind,
    config,
    status: 'in_world',
    sinceMs: Date.now(),
    data: { x: 1, y: 1 },
    state: { waiting: new Set() },
    abort: new AbortController(),
    timer: setInterval(() => {}, NEVER_MS),
  };
  bots.set(id, bot);
  live(bot).catch(() => {});
  return { id, kind, status: bot.status, since_ms: bot.sinceMs, data: bot.data };
}

async function live({ abort }: BareBot): Promise<void> {
  await new Promise((resolve) => abort.signal.addEventListener('abort', resolve, { once: true }));
}
