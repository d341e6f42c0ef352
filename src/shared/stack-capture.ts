// Runs in main, for its worker threads, and in the watch thread of a bot host process, for its main thread.

import type { StackFrame } from './contract/bots.js';

/** The work of a stuck thread. */
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
/**
 * Defined by src/shared/lag-watch.ts and offerLeave(): what the thread does, once it has been made safe to end in the midst of
 * that.
 */
const LEAVE_AND_TELL = `globalThis[Symbol.for('drover.leave')]?.(), globalThis[Symbol.for('drover.running')]?.() ?? null`;
const MAX_FRAMES = 50;
/** How long the thread gets to return to its loop, in ms. */
const RESUME_MS = 50;

/** The work of a stuck thread of the service. */
export interface Ended {
  /** Innermost first; empty when it was in native code that can be interrupted, such as a regular expression. */
  frames: StackFrame[];
  /** The work that the thread names; null when it does not know. */
  what: string | null;
  /** The turn is over, and the thread ends by itself. Otherwise it has to be terminated, which is safe. */
  isAborted: boolean;
}

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

/** The task that runs in a stuck thread. */
interface Task {
  /** Evaluated in it, where it is. */
  expression: string;
  /** Whether its work is aborted after that. */
  ends: boolean;
  /** Whether uWebSockets.js may have begun the turn. */
  hasUws?: boolean;
}

interface Found {
  frames: StackFrame[];
  told: string | null;
  isAborted: boolean;
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
 * What a thread does before the inspector ends it in the midst of its work (see {@link endStuckTurn}). It must not throw.
 * @param leave gives up what nobody could after that: sockets of uWebSockets.js.
 */
export function offerLeave(leave: () => void): void {
  Object.defineProperty(globalThis, Symbol.for('drover.leave'), {
    value: leave,
    configurable: true,
  });
}

/**
 * Pauses a worker thread of this process with the inspector, wherever it is, reads its stack, has it post what it has gathered,
 * and resumes it.
 * @returns undefined when the thread does not answer within `withinMs` (stuck in native code).
 */
export async function captureStack(
  threadId: number,
  withinMs: number,
): Promise<Captured | undefined> {
  const task = { expression: POST_AND_TELL, ends: false };
  return captured(await capture(withinMs, task, toWorker(threadId)));
}

/**
 * The same for a thread of the service that is to end. It makes itself safe to end (see {@link offerLeave}). Then one of two things is
 * safe, and the other would abort the process: a turn that Node has begun may only be terminated with its thread, as Node keeps its own stack
 * for it; one that uWebSockets.js has begun is aborted alone, past every `catch` and `finally`, because its native code continues after it
 * and needs a thread that runs.
 * @param hasUws whether uWebSockets.js may have begun the turn.
 */
export async function endStuckTurn(
  threadId: number,
  withinMs: number,
  hasUws: boolean,
): Promise<Ended | undefined> {
  // Cancels a late answer: a thread that works again after the timeout stays as it is.
  const until = Date.now() + 2 * withinMs;
  const task = {
    expression: `Date.now() > ${until} ? null : [(${LEAVE_AND_TELL})]`,
    ends: true,
    hasUws,
  };
  const found = await capture(withinMs, task, toWorker(threadId));
  return found && { frames: found.frames, what: found.told, isAborted: found.isAborted };
}

function captured(found: Found | undefined): Captured | undefined {
  return found && { frames: found.frames, bot: found.told };
}

function toWorker(threadId: number): Connect {
  // Loaded when needed, because few services ever need it.
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connect();
  return (heard) => {
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
  };
}

/** Captures the main thread of this process, from a worker thread. */
export async function captureMainThread(withinMs: number): Promise<Captured | undefined> {
  const { Session } = process.getBuiltinModule('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  const task = { expression: POST_AND_TELL, ends: false };
  const found = await capture(withinMs, task, (heard) => {
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
  return captured(found);
}

function capture(
  withinMs: number,
  { expression, ends, hasUws = false }: Task,
  connect: Connect,
): Promise<Found | undefined> {
  return new Promise((resolve) => {
    const done = (found: Found | undefined): void => {
      clearTimeout(timeout);
      if (!found && !asked.canLeave) {
        resolve(undefined);
        return;
      }
      if (found?.isAborted) asked.send(5, 'Runtime.terminateExecution');
      // A paused thread cannot be terminated: it has to run again.
      asked.send(4, 'Debugger.disable');
      setTimeout(() => {
        asked.disconnect();
        resolve(found);
      }, RESUME_MS);
    };
    const question = { expression, returnByValue: true, silent: true };
    const late = (): void => {
      if (!ends) {
        done(undefined);
        return;
      }
      // V8's own native code does not pause, but what it can be interrupted by may run code. Without the pause that is pending.
      timeout = setTimeout(() => done(undefined), withinMs);
      asked.send(4, 'Debugger.disable');
      const withStack = `((told) => { Error.stackTraceLimit = 1000; return told && [...told, new Error().stack]; })(${expression})`;
      asked.send(3, 'Runtime.evaluate', { ...question, expression: withStack });
    };
    let timeout = setTimeout(late, withinMs);
    let frames: StackFrame[] = [];
    let isOfNode = true;
    /** URLs by script id, because the frames have only that. */
    const urls = new Map<string, string>();
    const heard = (message: InspectorMessage): void => {
      const { callFrames, scriptId, url } = message.params ?? {};
      if (message.method === 'Debugger.scriptParsed' && scriptId !== undefined) {
        urls.set(scriptId, url ?? '');
      } else if (message.method === 'Debugger.paused' && callFrames) {
        frames = callFrames.slice(0, MAX_FRAMES).map((frame) => stackFrame(frame, urls));
        const outermost = callFrames.at(-1);
        isOfNode = urls.get(outermost?.location.scriptId ?? '')?.startsWith('node:') ?? true;
        const callFrameId = callFrames[0]?.callFrameId;
        asked.send(3, 'Debugger.evaluateOnCallFrame', { callFrameId, ...question });
      } else if (message.id === 3) {
        const value = message.result?.result?.value;
        // The thread has not left: its answer is too late, and it must not be ended.
        if (ends && !Array.isArray(value)) {
          done(undefined);
          return;
        }
        const [told, stack] = Array.isArray(value) ? value : [value];
        if (typeof stack === 'string') isOfNode = /node:[^\n]*$/.test(stack);
        done({
          frames,
          told: typeof told === 'string' ? told : null,
          isAborted: hasUws && !isOfNode,
        });
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
