// Runs in main. Owns how a bot host is asked for its memory, also one whose loop stands still: by the inspector.

import { Session } from 'node:inspector';

/**
 * Bytes that the thread uses, see bot-host/memory.ts; above `limit` without its garbage.
 * @returns undefined when the thread does not answer within `withinMs` (it is in native code, or gone).
 */
export function probeMemory(
  threadId: number,
  limit: number,
  withinMs: number,
): Promise<number | undefined> {
  const session = new Session();
  session.connect();
  return new Promise((resolve) => {
    const done = (used: number | undefined): void => {
      clearTimeout(timeout);
      session.disconnect();
      resolve(used);
    };
    const timeout = setTimeout(() => done(undefined), withinMs);
    let target: string | undefined;
    session.on('NodeWorker.attachedToWorker', ({ params }) => {
      if (!params.workerInfo.title.startsWith(`[worker ${threadId}]`)) return;
      target = params.sessionId;
      const expression = `globalThis[Symbol.for('drover.memoryUsed')]?.(${limit})`;
      const question = {
        id: 1,
        method: 'Runtime.evaluate',
        params: { expression, returnByValue: true, silent: true },
      };
      const message = JSON.stringify(question);
      session.post('NodeWorker.sendMessageToWorker', { sessionId: target, message });
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
      if (params.sessionId !== target) return;
      const answer = JSON.parse(params.message) as {
        id?: number;
        result?: { result?: { value?: unknown } };
      };
      if (answer.id !== 1) return;
      const value = answer.result?.result?.value;
      done(typeof value === 'number' ? value : undefined);
    });
    session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  });
}
