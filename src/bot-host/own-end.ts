// Runs in a bot host thread. Lets a bot end itself and other processes only: the process is that of all bots, and of the service.

import { currentOwner, type Owner } from './current-bot.js';
import { emitTo, endOf, ownsFor, runContained } from './own-listeners.js';
import { ownProperty } from './own-values.js';

/** @param isSettling whether Node's own part of an uncaught error runs. */
export function ownEnd(isSettling: () => boolean): void {
  const { exit, kill, reallyExit, _kill } = process as NodeJS.Process & {
    reallyExit(code?: number): never;
    /** The system call of `kill`. */
    _kill(pid: number, signal: number): number;
  };
  const end = (owner: Owner | undefined, call: string): never => {
    if (!owner || owner.id === null) {
      throw new Error(`a bot must not call ${call}; its run ends when run() returns or throws`);
    }
    const thrown = endOf(owner, call);
    owner.fail(thrown);
    // Ends the code that called it. Nobody gets this error, because the run has ended.
    throw thrown;
  };
  const ending = (name: string, real: (code?: never) => never) => (code?: never) => {
    const owner = currentOwner();
    // Node ends the thread.
    if (!owner && isSettling()) return real.call(process, code);
    return end(owner, `process.${name}(${code ?? ''})`);
  };
  ownProperty(process, 'exit', ending('exit', exit));
  ownProperty(process, 'reallyExit', ending('reallyExit', reallyExit));
  ownProperty(process, 'abort', () => end(currentOwner(), 'process.abort()'));
  ownProperty(process, 'kill', (pid: number, signal?: string | number) => {
    // 0 and negative numbers are process groups, and this process may be in them. Signal 0 only asks whether there is one.
    if (signal === 0 || (pid !== process.pid && pid > 0)) return kill.call(process, pid, signal);
    const name = String(signal ?? 'SIGTERM');
    const owner = currentOwner();
    if (
      owner &&
      pid === process.pid &&
      ownsFor(owner).some((own) => own.emitter.listenerCount(name) > 0)
    ) {
      setImmediate(() => runContained(owner, () => emitTo(owner, name, [name])));
      return true;
    }
    if (pid !== process.pid) {
      throw new Error(`a bot must not send signals to the service (process.kill(${pid}))`);
    }
    return end(owner, `process.kill(${pid}, ${name})`);
  });
  ownProperty(process, '_kill', (pid: number, signal: number) => {
    if (signal === 0 || ![process.pid, -process.pid, 0, -1].includes(pid))
      return _kill(pid, signal);
    return end(currentOwner(), `process._kill(${pid}, ${signal})`);
  });
}
