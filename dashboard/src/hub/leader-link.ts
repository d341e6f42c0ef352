// Runs in tabs. Owns the way to the hub where there are no shared workers: the hub is in the tab that leads, which is the one
// that holds a lock, and the others speak to it over a BroadcastChannel. Browsers let tabs that are not seen stand still:
// one that is seen takes the lead from a tab of which nothing is heard.

import { Hub } from './hub.js';
import type { Inheritance, Port, ToHub, ToTab } from './messages.js';

const CHANNEL = 'drover-hub';
/** How often the tab that leads says so, in ms, and after how many times without a word it is taken to stand still. */
const BEAT_MS = 1000;
const MAX_SILENT = 3;

/** What goes over the channel; all tabs hear all. A `leader` is the name of a lead: of two the greater is the later. */
type Envelope =
  | { to: 'hub'; tab: string; message: ToHub }
  | { to: 'tab'; tab: string; leader: string; message: ToTab }
  | { to: 'all'; leader: string };

export interface LinkOptions {
  /** What the hub says. */
  receive: (message: ToTab) => void;
  /** Another hub has taken over: it knows nothing of this tab, which is to say hello again. */
  renewed: () => void;
  /** What this tab has, for a hub that is to go on with it. */
  inheritance: () => Inheritance | undefined;
}

export class LeaderLink implements Port<ToHub, ToTab> {
  readonly receive: (message: ToTab) => void;
  readonly #options: LinkOptions;
  readonly #me = nameAt(Date.now());
  readonly #channel = new BroadcastChannel(CHANNEL);
  /** The last lead that is known of. */
  #leader = '';
  #silent = 0;
  #waiting = new AbortController();
  /** While this tab leads. */
  #hub: Hub | undefined;
  readonly #ports = new Map<string, Port<ToTab, ToHub>>();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.receive = options.receive;
    this.#channel.onmessage = ({ data }) => this.#take(data as Envelope);
    setInterval(() => this.#beat(), BEAT_MS);
    this.#queue();
  }

  send(message: ToHub): void {
    if (this.#hub) this.#hand(this.#me, message);
    else this.#post({ to: 'hub', tab: this.#me, message });
  }

  #post(envelope: Envelope): void {
    this.#channel.postMessage(envelope);
  }

  #take(envelope: Envelope): void {
    switch (envelope.to) {
      case 'hub':
        if (this.#hub) this.#hand(envelope.tab, envelope.message);
        break;
      case 'tab':
        // What comes from a tab that has lost the lead, and does not know it yet, is of no account.
        if (envelope.tab !== this.#me || envelope.leader < this.#leader) break;
        this.#follow(envelope.leader);
        this.receive(envelope.message);
        break;
      case 'all':
        if (envelope.leader < this.#leader) break;
        if (this.#follow(envelope.leader)) this.#options.renewed();
    }
  }

  /** @returns whether it is another than before. */
  #follow(leader: string): boolean {
    this.#silent = 0;
    if (leader === this.#leader) return false;
    this.#leader = leader;
    this.#stepDown();
    return true;
  }

  /** Leads when whoever leads now has gone. */
  #queue(): void {
    this.#waiting = new AbortController();
    void this.#hold({ signal: this.#waiting.signal });
  }

  async #hold(options: LockOptions): Promise<void> {
    let isHeld = false;
    try {
      await navigator.locks.request(CHANNEL, options, () => {
        isHeld = true;
        this.#lead();
        // Until the tab ends.
        return new Promise<never>(() => {});
      });
    } catch {
      // It waits no more, or has held it and another has taken it.
      if (!isHeld) return;
      this.#stepDown();
      this.#queue();
    }
  }

  #lead(): void {
    this.#leader = nameAt(Math.max(Date.now(), timeOf(this.#leader) + 1));
    this.#hub = new Hub(location.origin, this.#options.inheritance());
    this.#beat();
    this.#options.renewed();
  }

  #stepDown(): void {
    this.#hub?.close();
    this.#hub = undefined;
    this.#ports.clear();
  }

  #beat(): void {
    if (this.#hub) {
      this.#post({ to: 'all', leader: this.#leader });
    } else if (document.hidden) {
      this.#silent = 0;
    } else if (++this.#silent > MAX_SILENT) {
      this.#silent = 0;
      this.#waiting.abort();
      void this.#hold({ steal: true });
    }
  }

  /** Hands the hub what a tab has said. */
  #hand(tab: string, message: ToHub): void {
    let port = this.#ports.get(tab);
    if (!port) {
      port = { send: (answer) => this.#answer(tab, answer), receive: () => {} };
      this.#ports.set(tab, port);
      this.#hub?.attach(port);
    }
    port.receive(message);
    if (message.type === 'bye') this.#ports.delete(tab);
  }

  #answer(tab: string, message: ToTab): void {
    if (tab === this.#me) queueMicrotask(() => this.receive(message));
    else this.#post({ to: 'tab', tab, leader: this.#leader, message });
  }
}

function nameAt(time: number): string {
  return `${String(time).padStart(16, '0')}-${Math.random()}`;
}

function timeOf(name: string): number {
  return Number.parseInt(name, 10) || 0;
}
