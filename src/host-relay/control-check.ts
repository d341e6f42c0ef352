// Runs in the relay thread. Owns the open calls of main to one bot host process, and checks what the process says to main: main
// gets nothing that a bot host does not say.

import { isDeeper } from '../shared/contract/json-depth.js';
import type { Methods } from '../shared/contract/rpc.js';
import type { BotStart, HostControlMethods, HostMethods } from '../shared/contract/threads.js';
import { HOST_VALIDATORS } from '../shared/host-validators.js';
import { unpackMessage } from '../shared/pipe/frames.js';
import { HostFault, objectOf, quoted } from '../shared/pipe/host-fault.js';
import { checkNamed } from './check-named.js';
import type { OwnRuns } from './own-runs.js';

type Input<M extends Methods, K extends keyof M> = Parameters<M[K]>[0];

/** A message of the Rpc from main to the host, as far as it is read here. */
export interface MainMessage {
  type: string;
  id?: number;
  method?: string;
  input?: unknown;
}

interface OpenCall {
  method: keyof HostMethods & string;
  /** Of `start`: the runs. Of `stop`: the run that the bot has. */
  runs: readonly number[];
}

/** Levels of nesting of what main gets. At 5,000 some of those who handle it fail. */
const MAX_DEPTH = 256;
/** Bytes of what a host tells. Answers may be as long as a frame: the files of all kinds are one. */
const MAX_TOLD_BYTES = 2 * 2 ** 20;

/**
 * What a host may tell, by method: checks what the schema (src/shared/contract/host-messages.ts) cannot.
 * @returns whether main is to get it.
 */
const TELLS: {
  readonly [K in keyof HostControlMethods]: (
    input: Input<HostControlMethods, K>,
    runs: OwnRuns,
  ) => boolean;
} = {
  awake: () => true,
  exited({ id, run }, runs) {
    runs.exited(run, id);
    return true;
  },
  // Main knows the bots of the runs of each host.
  ready: () => true,
  settled({ run }, runs) {
    runs.settled(run);
    return true;
  },
  flooded: ({ id, run }, runs) => runs.isOf(run, id),
  lateError: ({ id, run }, runs) => runs.hasLateError(run, id),
  offered({ kind }, runs) {
    runs.checkKind(kind);
    return true;
  },
  kindFailed: ({ kind }, runs) => runs.hasKindFailure(kind),
  // Main asks for each run whether it is there.
  used: () => true,
};

export class ControlCheck {
  readonly #runs: OwnRuns;
  /** By id. Main bounds them. */
  readonly #calls = new Map<number, OpenCall>();
  /** Main has asked it to end. */
  isEnding = false;

  constructor(runs: OwnRuns) {
    this.#runs = runs;
  }

  /** Main says this to the host, which gets it next. */
  note({ type, id, method, input }: MainMessage): void {
    if (type === 'tell' && method === 'shutdown') this.isEnding = true;
    if (type !== 'call' || id === undefined) return;
    this.#calls.set(id, {
      method: method as OpenCall['method'],
      runs: this.#runsOf(method, input),
    });
  }

  #runsOf(method: string | undefined, input: unknown): number[] {
    if (method === 'start') {
      const { bots } = input as { bots: BotStart[] };
      this.#runs.begin(bots);
      return bots.map(({ run }) => run);
    }
    if (method !== 'stop') return [];
    const run = this.#runs.speaker((input as { id: string }).id);
    return run === undefined ? [] : [run];
  }

  /** @returns the message for main, null when main is not to get it. @throws HostFault, SyntaxError for what is no JSON. */
  check(bytes: Uint8Array): MainMessage | null {
    if (isDeeper(bytes, MAX_DEPTH)) throw new HostFault('a message that is nested too deep');
    const { type, id, method, input, output, error } = objectOf(unpackMessage(bytes), 'a message');
    if (type === 'tell') {
      if (bytes.length > MAX_TOLD_BYTES) {
        throw new HostFault(`${bytes.length} bytes to tell, and ${MAX_TOLD_BYTES} are allowed`);
      }
      return this.#told(method, input) ? ({ type, method, input } as MainMessage) : null;
    }
    if (type === 'return') {
      this.#returned(this.#answered(id), output ?? null);
      return { type, id, output } as MainMessage;
    }
    if (type !== 'throw') throw new HostFault(`a message of the type ${quoted(type)}`);
    const { method: of } = this.#answered(id);
    if (!HOST_VALIDATORS.HostError(error)) throw new HostFault(`${of} with an error that is none`);
    return { type, id, error } as MainMessage;
  }

  #told(method: unknown, input: unknown): boolean {
    if (typeof method !== 'string' || !Object.hasOwn(TELLS, method)) {
      throw new HostFault(`the method ${quoted(method)}, which main does not have`);
    }
    checkNamed(HOST_VALIDATORS.HostTells, method, input ?? null);
    const tell = TELLS[method as keyof HostControlMethods] as (
      input: unknown,
      runs: OwnRuns,
    ) => boolean;
    return tell(input, this.#runs);
  }

  /** @throws HostFault for the answer to a call that is not open. */
  #answered(id: unknown): OpenCall {
    const call = this.#calls.get(id as number);
    if (!call) throw new HostFault('an answer to a call that is not open');
    this.#calls.delete(id as number);
    return call;
  }

  #returned({ method, runs }: OpenCall, output: unknown): void {
    checkNamed(HOST_VALIDATORS.HostAnswers, method, output);
    if (method === 'stop') for (const run of runs) this.#runs.over(run);
    if (method === 'start') {
      const { failed } = output as Awaited<ReturnType<HostMethods['start']>>;
      for (const run of runs) if (Object.hasOwn(failed, run)) this.#runs.failed(run);
    }
    if (method === 'attachEvents') {
      const states = output as Awaited<ReturnType<HostMethods['attachEvents']>>;
      states.bots = states.bots.filter(({ id }) => this.#runs.speaks(id));
    }
  }
}
