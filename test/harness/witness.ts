// Test harness. Owns the other end of the connections of `witness` bots (test/fixtures/kinds/witness.mjs): what they do as the outside
// world sees it, without Drover.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { PATIENCE_MS } from './patience.js';

const HELLO = /^hello (\S+) (\d+) (\d+) (\d+)(?: (\S+))?$/;
const LINE = /^\d+ (\d+)$/;
/** A violation is followed by many: the first ones tell. */
const MAX_VIOLATIONS = 20;

interface Visit {
  bot: string;
  term: number;
  pid: number;
  secret: string | undefined;
  /** When its hello and its last line were written, in ns of the monotonic clock, which all processes of a machine share. */
  helloNs: bigint;
  lastNs: bigint;
  isOpen: boolean;
}

/** What was seen of one bot. */
interface Seen {
  /** The connection that may send: the last one of the highest term. */
  current: Visit;
  open: Set<Visit>;
}

/** Two connections of one bot that were open at once, although the older one sent nothing more. */
export interface Overlap {
  bot: string;
  olderTerm: number;
  newerTerm: number;
  /** Of the process that kept the older one open. */
  pid: number;
}

export class Witness {
  /** A bot was two: a line each, the first {@link MAX_VIOLATIONS}. */
  readonly violations: string[] = [];
  /** Legal only for processes that were frozen, or cut off from the witness: they cannot close their connections. */
  readonly overlaps: Overlap[] = [];
  /** Connections since the beginning. */
  visits = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #bots = new Map<string, Seen>();
  readonly #watchers = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#welcome(socket));
  }

  static async start(host = '127.0.0.1'): Promise<Witness> {
    const server = createServer({ noDelay: true }).listen(0, host);
    await once(server, 'listening');
    return new Witness(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bots whose last connection of the highest term is open. */
  get present(): string[] {
    return [...this.#bots].filter(([, { current }]) => current.isOpen).map(([bot]) => bot);
  }

  /** The highest term of a bot so far. */
  termOf(bot: string): number | undefined {
    return this.#bots.get(bot)?.current.term;
  }

  /** The process that it is in. Undefined when it is not connected. */
  pidOf(bot: string): number | undefined {
    const current = this.#bots.get(bot)?.current;
    return current?.isOpen ? current.pid : undefined;
  }

  secretOf(bot: string): string | undefined {
    return this.#bots.get(bot)?.current.secret;
  }

  /** Resolves when each of these bots is connected, and has sent a line on a process that fits. */
  async all(bots: readonly string[], fits: (pid: number) => boolean = () => true): Promise<void> {
    const missing = (): string[] =>
      bots.filter((bot) => {
        const pid = this.pidOf(bot);
        return pid === undefined || !fits(pid);
      });
    await this.until(
      () => missing().length === 0,
      () => `${missing().length} of ${bots.length} bots: ${missing().slice(0, 10).join(', ')}`,
    );
  }

  /** Waits until the condition holds. It is checked with every line and with every end of a connection. */
  until(condition: () => boolean, what: () => string, withinMs = PATIENCE_MS): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        act();
      };
      const check = (): void => {
        if (condition()) settle(resolve);
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`the witness still waits for ${what()}`))),
        withinMs,
      );
      this.#watchers.add(check);
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    this.visits += 1;
    let rest = '';
    let visit: Visit | undefined;
    socket.setEncoding('latin1').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (visit) this.#heard(visit, line);
        else visit = this.#greeted(line);
      }
      this.#changed();
    });
    const left = (): void => {
      if (!visit) return;
      visit.isOpen = false;
      this.#bots.get(visit.bot)?.open.delete(visit);
      this.#changed();
    };
    socket.on('error', () => {});
    // Before `close`, which comes in a later turn: the successor may have said hello by then.
    socket.on('end', left);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      left();
    });
  }

  #greeted(line: string): Visit | undefined {
    const [, bot = '', term, pid, ns = '', secret] = HELLO.exec(line) ?? [];
    if (!bot) {
      this.#violation(`a line that no bot sends: ${JSON.stringify(line)}`);
      return undefined;
    }
    const helloNs = BigInt(ns);
    const visit = {
      bot,
      term: Number(term),
      pid: Number(pid),
      secret,
      helloNs,
      lastNs: helloNs,
      isOpen: true,
    };
    const seen = this.#bots.get(bot) ?? { current: visit, open: new Set() };
    this.#bots.set(bot, seen);
    if (visit.term < seen.current.term) {
      if (helloNs > seen.current.helloNs)
        this.#violation(
          `${bot}: process ${pid} says hello with term ${term} ${after(seen.current)}`,
        );
    } else {
      for (const older of seen.open) this.#overlaps(bot, older, visit);
      seen.current = visit;
    }
    seen.open.add(visit);
    return visit;
  }

  /** The end of the older one may have been read in the same turn of the loop. */
  #overlaps(bot: string, older: Visit, newer: Visit): void {
    setImmediate(() =>
      setImmediate(() => {
        if (!older.isOpen) return;
        const { term: olderTerm, pid } = older;
        this.overlaps.push({ bot, olderTerm, newerTerm: newer.term, pid });
        this.#changed();
      }),
    );
  }

  /** What was written before a newer one said hello may arrive after that: the network, or this process, was slow. */
  #heard(visit: Visit, line: string): void {
    const [, ns] = LINE.exec(line) ?? [];
    if (ns === undefined) {
      this.#violation(`a line that no bot sends: ${JSON.stringify(line)}`);
      return;
    }
    visit.lastNs = BigInt(ns);
    const { current } = this.#bots.get(visit.bot) as Seen;
    if (current !== visit && visit.lastNs > current.helloNs)
      this.#violation(
        `${visit.bot}: process ${visit.pid} sends with term ${visit.term} ${after(current)}`,
      );
  }

  #violation(what: string): void {
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(`VIOLATION ${what}`);
  }

  #changed(): void {
    for (const check of [...this.#watchers]) check();
  }
}

function after({ term, pid, helloNs }: Visit): string {
  const ago = (process.hrtime.bigint() - helloNs) / 1_000_000n;
  return `after process ${pid} with term ${term}, which has said hello ${ago} ms ago`;
}
