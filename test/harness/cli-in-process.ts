// Runs a command in the test's own process, which takes milliseconds. Only one at a time: a command uses the process's
// environment, directory, input, output and signals, all of which are replaced meanwhile. The test's clock is the
// command's clock (vi.useFakeTimers). What real signals, pipes and terminals do is tested with processes (cli.ts).

import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { Semaphore } from '../../src/shared/semaphore.js';

type CommandLine = typeof import('../../src/cli/command-line.js');
type StopSignals = typeof import('../../src/cli/stop-signals.js');

/** The build: the sources would look for their package files at another depth. */
const BUILD = new URL('../../dist/src/cli/', import.meta.url).href;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const turns = new Semaphore({ permits: 1, maxQueued: 100 });

interface Output {
  stdout: string;
  stderr: string;
  screen: string;
}

/** Thrown instead of `process.exit`. */
class Exit {
  readonly code: number;
  constructor(code: number) {
    this.code = code;
  }
}

export interface CliEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliSurroundings {
  /** The whole environment. */
  env: Record<string, string>;
  cwd: string;
  /** Its standard input, which then ends. Default: it is empty. */
  input?: string | undefined;
  /** The width of the terminal that both outputs are. Default: they are no terminal. */
  terminal?: number | undefined;
}

export interface InProcessRun {
  stdout(): string;
  stderr(): string;
  /** Both outputs, in the order of their lines. */
  screen(): string;
  ended: Promise<CliEnd>;
  /** Does what a stop signal does. */
  interrupt(): Promise<void>;
}

export function runCliInProcess(args: string[], surroundings: CliSurroundings): Promise<CliEnd> {
  return startCliInProcess(args, surroundings).ended;
}

/** Its `ended` must be awaited: the next command runs after it. */
export function startCliInProcess(args: string[], surroundings: CliSurroundings): InProcessRun {
  const output: Output = { stdout: '', stderr: '', screen: '' };
  const printed = ({ stdout, stderr }: Output) => ({ stdout, stderr });
  const ended = turns.run(async () => {
    const { createProgram } = await load();
    const restore = replaceProcess(output, surroundings);
    try {
      await createProgram().parseAsync(args, { from: 'user' });
      return { code: Number(process.exitCode ?? 0), ...printed(output) };
    } catch (thrown) {
      if (!(thrown instanceof Exit)) throw thrown;
      return { code: thrown.code, ...printed(output) };
    } finally {
      restore();
    }
  });
  return {
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    screen: () => output.screen,
    ended,
    interrupt: async () => {
      const { stopSignal } = await load();
      // A real one is aborted once and for all.
      const reason = new DOMException('This operation was aborted', 'AbortError');
      Object.defineProperties(stopSignal, {
        aborted: { value: true, configurable: true },
        reason: { value: reason, configurable: true },
        throwIfAborted: {
          value: () => {
            throw reason;
          },
          configurable: true,
        },
      });
      stopSignal.dispatchEvent(new Event('abort'));
      await ended.finally(() => {
        for (const name of ['aborted', 'reason', 'throwIfAborted']) {
          Reflect.deleteProperty(stopSignal, name);
        }
      });
    },
  };
}

async function load(): Promise<CommandLine & StopSignals> {
  // The signal handlers only make sense in a separate process.
  const handlers = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  const stopSignals = (await import(`${BUILD}stop-signals.js`)) as StopSignals;
  const commandLine = (await import(`${BUILD}command-line.js`)) as CommandLine;
  for (const [signal, before] of handlers) {
    for (const listener of process.listeners(signal)) {
      if (!before.includes(listener)) process.off(signal, listener);
    }
  }
  // Each command adds its own.
  setMaxListeners(0, stopSignals.stopSignal);
  return { ...stopSignals, ...commandLine };
}

/** @returns a function that restores everything that was replaced. */
function replaceProcess(
  output: Output,
  { env, cwd, input = '', terminal }: CliSurroundings,
): () => void {
  const { exit, exitCode, env: envBefore } = process;
  const cwdBefore = process.cwd();
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
  const restoreOutputs = (['stdout', 'stderr'] as const).map((name) => {
    const stream = process[name];
    const { write, isTTY, columns } = stream;
    const listeners = stream.listeners('error');
    stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      output[name] += text;
      output.screen += text;
      const written = rest.at(-1);
      if (typeof written === 'function') queueMicrotask(() => written());
      return true;
    };
    Object.assign(stream, { isTTY: terminal !== undefined, columns: terminal });
    return () => {
      Object.assign(stream, { write, isTTY, columns });
      for (const listener of stream.listeners('error')) {
        if (!listeners.includes(listener)) stream.off('error', listener as () => void);
      }
    };
  });
  const typed = Readable.from(input === '' ? [] : [input]);
  Object.defineProperty(process, 'stdin', { ...stdin, get: () => typed });
  process.env = { ...env };
  process.exitCode = undefined;
  process.exit = (code) => {
    throw new Exit(Number(code ?? process.exitCode ?? 0));
  };
  process.chdir(cwd);
  return () => {
    process.chdir(cwdBefore);
    process.exit = exit;
    process.exitCode = exitCode;
    process.env = envBefore;
    Object.defineProperty(process, 'stdin', stdin);
    for (const restore of restoreOutputs) restore();
  };
}
