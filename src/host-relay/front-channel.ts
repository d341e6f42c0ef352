// Runs in the relay thread. Owns the service's end of the channel of one front to a bot host process, and knows which commands have
// no outcome: the front gets the outcomes of commands that it has sent, each once.

import {
  type CommandMessage,
  ENDED,
  eachCommand,
  eachOutcome,
  isOutcome,
  LATER,
  type OutcomeList,
  TAKEN,
} from '../shared/contract/command-messages.js';
import { isDeeper } from '../shared/contract/json-depth.js';
import type { HostPort } from '../shared/contract/threads.js';
import { unpackMessage } from '../shared/pipe/frames.js';
import { HostFault, quoted } from '../shared/pipe/host-fault.js';

/** A result as JSON: src/bot-host/command-call.ts bounds it, in bytes; masks may make it longer. */
const MAX_RESULT_UNITS = 2 * 2 ** 20;
const MAX_RESULT_DEPTH = 64;

export class FrontChannel {
  readonly #port: HostPort;
  /** Ids of commands without an outcome. The front bounds them. */
  readonly #open = new Set<number>();
  /** Messages with commands that the host has not taken. */
  #untaken = 0;

  /** @param send passes a message of the front on to the host. @param closed the front has closed its end, or is gone. */
  constructor(port: HostPort, send: (message: CommandMessage) => void, closed: () => void) {
    this.#port = port;
    port.on('message', (message: CommandMessage) => {
      this.#note(message);
      send(message);
    });
    port.once('close', closed);
  }

  close(): void {
    this.#port.close();
  }

  /** Passes outcomes on to the front. @throws HostFault, SyntaxError for what is no JSON. */
  take(bytes: Uint8Array): void {
    const list = unpackMessage(bytes);
    if (!Array.isArray(list) || (list.length - 1) % 3 !== 0) {
      throw new HostFault('outcomes of commands that are no list of them');
    }
    this.#check(list as OutcomeList);
    this.#port.postMessage(list);
  }

  #note(message: CommandMessage): void {
    if (message.type !== 'run') return;
    this.#untaken += 1;
    eachCommand(message.commands, (id) => this.#open.add(id));
  }

  #check(list: OutcomeList): void {
    const [first] = list;
    const isFit = {
      [TAKEN]: this.#untaken > 0,
      [LATER]: list.length > 1,
      [ENDED]: list.length === 1,
    };
    if (!isFit[first as keyof typeof isFit]) {
      throw new HostFault('outcomes that answer no commands');
    }
    if (first === TAKEN) this.#untaken -= 1;
    for (let at = 1; at < list.length; at += 3) {
      const [id, code, text] = list.slice(at, at + 3);
      if (!this.#open.delete(id as number)) {
        throw new HostFault('the outcome of a command that is not open');
      }
      if (!isOutcome(code, text)) throw new HostFault(`an outcome with the code ${quoted(code)}`);
    }
    eachOutcome(list, (_, outcome) => {
      if (typeof outcome === 'string') checkResult(outcome);
    });
  }
}

/** Fronts put it into their answers as it is. */
function checkResult(json: string): void {
  if (json.length > MAX_RESULT_UNITS) {
    throw new HostFault(
      `a result of ${json.length} characters, and ${MAX_RESULT_UNITS} are allowed`,
    );
  }
  try {
    JSON.parse(json);
  } catch {
    throw new HostFault('a result that is no JSON');
  }
  if (json.length > MAX_RESULT_DEPTH && isDeeper(Buffer.from(json), MAX_RESULT_DEPTH)) {
    throw new HostFault('a result that is nested too deep');
  }
}
