import type { StackFrame } from '../../shared/contract/bots.js';

/** What a stuck thread was doing. */
export interface Captured {
  /** Innermost first. */
  frames: StackFrame[];
  /** The bot whose code it was, as the thread's host keeps it. */
  bot: string | null;
}

/**
 * Defined by workers/bot-host.ts and src/bot-host/current-bot.ts. The lines that the host had gathered are posted: they are the
 * last ones before it got stuck.
 */
const POST_AND_TELL = `globalThis[Symbol.for('drover.postItems')]?.(), globalThis[Symbol.for('drover.currentBot')]?.() ?? null`;
const MAX_FRAMES = 50;
/** How long the thread gets to return to its loop, in ms. */
const RESUME_MS = 50;

interface PausedFrame {
  callFrameId: string;
  functionName: string;
  location: { scriptId: string; lineNumber: number; columnNumber: number };
}

interface WorkerMessage {
  id?: number;
  method?: string;
  params?: { callFrames?: PausedFrame[]; scriptId?: string; url?: string };
  result?: { result?: { value?: unknown } };
}

/**
 * Pauses the thread with the inspector, wherever it is, reads its stack, has it post what it has gathered, and resumes it.
 * @returns undefined when the thread does not answer within `withinMs` (stuck in native code).
 */
export function captureStack(threadId: number, withinMs: number): Promise<Captured | undefined> {
  // Not imported: few services ever need it.
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connect();
  return new Promise((resolve) => {
    const done = (captured: Captured | undefined): void => {
      clearTimeout(timeout);
      // A paused thread cannot be terminated: it has to run again.
      send(4, 'Debugger.disable');
      setTimeout(() => {
        session.disconnect();
        resolve(captured);
      }, RESUME_MS);
    };
    const timeout = setTimeout(() => done(undefined), withinMs);
    let target: string | undefined;
    let frames: StackFrame[] = [];
    /** By script id, which is all that the frames have. */
    const urls = new Map<string, string>();
    const send = (id: number, method: string, params: object = {}): void => {
      const message = JSON.stringify({ id, method, params });
      if (target === undefined) return;
      session.post('NodeWorker.sendMessageToWorker', { sessionId: target, message });
    };
    session.on('NodeWorker.attachedToWorker', ({ params }) => {
      // workerId is the inspector's number; the thread's is in the title.
      if (!params.workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
      target = params.sessionId;
      send(1, 'Debugger.enable');
      send(2, 'Debugger.pause');
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
      if (params.sessionId !== target) return;
      const message = JSON.parse(params.message) as WorkerMessage;
      const { callFrames, scriptId, url } = message.params ?? {};
      if (message.method === 'Debugger.scriptParsed' && scriptId !== undefined) {
        urls.set(scriptId, url ?? '');
      } else if (message.method === 'Debugger.paused' && callFrames) {
        frames = callFrames.slice(0, MAX_FRAMES).map((frame) => stackFrame(frame, urls));
        const callFrameId = callFrames[0]?.callFrameId;
        send(3, 'Debugger.evaluateOnCallFrame', {
          callFrameId,
          expression: POST_AND_TELL,
          returnByValue: true,
          silent: true,
        });
      } else if (message.id === 3) {
        const bot = message.result?.result?.value;
        done({ frames, bot: typeof bot === 'string' ? bot : null });
      }
    });
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  });
}

function stackFrame(
  { functionName, location }: PausedFrame,
  urls: Map<string, string>,
): StackFrame {
  return {
    function: functionName || '(anonymous)',
    url: urls.get(location.scriptId) ?? '',
    line: location.lineNumber + 1,
    column: location.columnNumber + 1,
  };
}
