// Runs in main, for its worker threads, and in the watch thread of a bot host process, for its main thread.

import type { StackFrame } from './contract/bots.js';

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

interface InspectorMessage {
  id?: number;
  method?: string;
  params?: { callFrames?: PausedFrame[]; scriptId?: string; url?: string };
  result?: { result?: { value?: unknown } };
}

/** How the inspector of another thread is asked, and heard. */
interface Asked {
  /** @param begin is called when it can be asked. */
  open(begin: () => void): void;
  send(id: number, method: string, params?: object): void;
  disconnect(): void;
  /** Whether a thread that does not answer can be left. */
  canLeave: boolean;
}

/** `heard` gets the messages of the thread. */
type Connect = (heard: (message: InspectorMessage) => void) => Asked;

/**
 * Pauses a worker thread of this process with the inspector, wherever it is, reads its stack, has it post what it has gathered,
 * and resumes it.
 * @returns undefined when the thread does not answer within `withinMs` (stuck in native code).
 */
export function captureStack(threadId: number, withinMs: number): Promise<Captured | undefined> {
  // Not imported: few services ever need it.
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connect();
  return capture(withinMs, (heard) => {
    let target: string | undefined;
    return {
      open(begin) {
        session.on('NodeWorker.attachedToWorker', ({ params }) => {
          // workerId is the inspector's number; the thread's is in the title.
          if (!params.workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
          target = params.sessionId;
          begin();
        });
        session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
          if (params.sessionId === target) heard(JSON.parse(params.message) as InspectorMessage);
        });
        session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
      },
      send(id, method, params = {}) {
        if (target === undefined) return;
        const message = JSON.stringify({ id, method, params });
        session.post('NodeWorker.sendMessageToWorker', { sessionId: target, message });
      },
      disconnect: () => session.disconnect(),
      canLeave: true,
    };
  });
}

/** The same for the main thread of this process, from a worker thread. */
export function captureMainThread(withinMs: number): Promise<Captured | undefined> {
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  return capture(withinMs, (heard) => {
    // Node's types have no `on` and `post` for any method.
    const events = session as unknown as NodeJS.EventEmitter;
    const post = session.post.bind(session) as unknown as (
      method: string,
      params: object,
      answered: (error: Error | null, result: object) => void,
    ) => void;
    return {
      open(begin) {
        events.on('Debugger.scriptParsed', heard);
        events.on('Debugger.paused', heard);
        begin();
      },
      send(id, method, params = {}) {
        post(method, params, (error, result) => error ?? heard({ id, result }));
      },
      disconnect: () => session.disconnect(),
      // It would wait for that thread, and the process is killed next.
      canLeave: false,
    };
  });
}

function capture(withinMs: number, connect: Connect): Promise<Captured | undefined> {
  return new Promise((resolve) => {
    const done = (captured: Captured | undefined): void => {
      clearTimeout(timeout);
      if (!captured && !asked.canLeave) {
        resolve(undefined);
        return;
      }
      // A paused thread cannot be terminated: it has to run again.
      asked.send(4, 'Debugger.disable');
      setTimeout(() => {
        asked.disconnect();
        resolve(captured);
      }, RESUME_MS);
    };
    const timeout = setTimeout(() => done(undefined), withinMs);
    let frames: StackFrame[] = [];
    /** By script id, which is all that the frames have. */
    const urls = new Map<string, string>();
    const heard = (message: InspectorMessage): void => {
      const { callFrames, scriptId, url } = message.params ?? {};
      if (message.method === 'Debugger.scriptParsed' && scriptId !== undefined) {
        urls.set(scriptId, url ?? '');
      } else if (message.method === 'Debugger.paused' && callFrames) {
        frames = callFrames.slice(0, MAX_FRAMES).map((frame) => stackFrame(frame, urls));
        const callFrameId = callFrames[0]?.callFrameId;
        asked.send(3, 'Debugger.evaluateOnCallFrame', {
          callFrameId,
          expression: POST_AND_TELL,
          returnByValue: true,
          silent: true,
        });
      } else if (message.id === 3) {
        const bot = message.result?.result?.value;
        done({ frames, bot: typeof bot === 'string' ? bot : null });
      }
    };
    const asked = connect(heard);
    asked.open(() => {
      asked.send(1, 'Debugger.enable');
      asked.send(2, 'Debugger.pause');
    });
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
