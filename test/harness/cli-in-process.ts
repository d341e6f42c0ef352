// Runs a command in the test's own process, which takes milliseconds. Only one at a time: a command uses the process's
// environment, directory and output. Tests of signals, input, pipes and terminals use a separate process (cli.ts).

import { Semaphore } from '../../src/shared/semaphore.js';

type CommandLine = typeof import('../../src/cli/command-line.js');

/** The build: the sources would look for their package files at another depth. */
const BUILD = new URL('../../dist/src/cli/command-line.js', import.meta.url).href;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const turns = new Semaphore({ permits: 1, maxQueued: 100 });

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
}

export function runCliInProcess(args: string[], surroundings: CliSurroundings): Promise<CliEnd> {
  return turns.run(async () => {
    // Its signal handlers only make sense in a separate process.
    const handlers = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
    const { createProgram } = (await import(BUILD)) as CommandLine;
    for (const [signal, before] of handlers) {
      for (const listener of process.listeners(signal)) {
        if (!before.includes(listener)) process.off(signal, listener);
      }
    }
    const output = { stdout: '', stderr: '' };
    const restore = replaceProcess(output, surroundings);
    try {
      await createProgram().parseAsync(args, { from: 'user' });
      return { code: Number(process.exitCode ?? 0), ...output };
    } catch (thrown) {
      if (!(thrown instanceof Exit)) throw thrown;
      return { code: thrown.code, ...output };
    } finally {
      restore();
    }
  });
}

/** @returns a function that restores everything that was replaced. */
function replaceProcess(
  output: { stdout: string; stderr: string },
  { env, cwd }: CliSurroundings,
): () => void {
  const { exit, exitCode, env: envBefore } = process;
  const cwdBefore = process.cwd();
  const errorListeners = process.stdout.listeners('error');
  const writes = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
      output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      const written = rest.at(-1);
      if (typeof written === 'function') queueMicrotask(() => written());
      return true;
    };
  }
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
    Object.assign(process.stdout, { write: writes.stdout });
    Object.assign(process.stderr, { write: writes.stderr });
    for (const listener of process.stdout.listeners('error')) {
      if (!errorListeners.includes(listener)) process.stdout.off('error', listener as () => void);
    }
  };
}
