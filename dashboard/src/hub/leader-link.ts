// Runs in tabs of browsers without shared workers. One tab, the leader, runs the hub; it holds a Web Lock, and the other tabs
// talk to it over a BroadcastChannel. Browsers freeze hidden tabs, so a visible tab takes over from a silent leader.

import { Hub } from './hub.js';
import type { Handover, Port, ToHub, ToTab } from './messages.js';
import { ownName, serviceUrl } from './service-address.js';

/** Interval of the leader's heartbeat, in ms, and how many may be missed before the leader counts as frozen. */
const BEAT_MS = 1000;
const MAX_SILENT = 3;

/** A message on the channel, which all tabs receive. `leader` identifies a term of leadership; a greater one is later. */
type Envelope =
  | { to: 'hub'; tab: string; message: ToHub }
  | { to: 'tab'; tab: string; leader: string; message: ToTab }
  | { to: 'all'; leader: string };

export interface LinkOptions {
  /** Receives the hub's messages. */
  receive: (message: ToTab) => void;
  /** Another hub has taken over; the tab must say hello again. */
  renewed: () => void;
  /** This tab's state, for a hub that takes over in this tab. */
  handover: () => Handover | undefined;
}

export class LeaderLink implements Port<ToHub, ToTab> {
  readonly receive: (message: ToTab) => void;
  readonly #options: LinkOptions;
  readonly #me = nameAt(Date.now());
  /** Of the channel and of the lock. */
  readonly #name = ownName('drover-hub');
  readonly #channel = new BroadcastChannel(this.#name);
  /** The latest known term. */
  #leader = '';
  #silent = 0;
  #waiting = new AbortController();
  /** Set while this tab leads. */
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
        // Ignore a former leader that does not know yet that it was replaced.
        if (envelope.tab !== this.#me || envelope.leader < this.#leader) break;
        this.#follow(envelope.leader);
        this.receive(envelope.message);
        break;
      case 'all':
        if (envelope.leader < this.#leader) break;
        if (this.#follow(envelope.leader)) this.#options.renewed();
    }
  }

  /** @returns whether the leader is new. */
  #follow(leader: string): boolean {
    this.#silent = 0;
    if (leader === this.#leader) return false;
    this.#leader = leader;
    this.#stepDown();
    return true;
  }

  /** Waits for the lock, to lead when the current leader is gone. */
  #queue(): void {
    this.#waiting = new AbortController();
    void this.#hold({ signal: this.#waiting.signal });
  }

  async #hold(options: LockOptions): Promise<void> {
    let isHeld = false;
    try {
      await navigator.locks.request(this.#name, options, () => {
        isHeld = true;
        this.#lead();
        // Held until the tab ends.
        return new Promise<never>(() => {});
      });
    } catch {
      // Aborted while waiting, or the lock was stolen.
      if (!isHeld) return;
      this.#stepDown();
      this.#queue();
    }
  }

  #lead(): void {
    this.#leader = nameAt(Math.max(Date.now(), timeOf(this.#leader) + 1));
    this.#hub = new Hub(serviceUrl(), this.#options.handover());
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

  /** Passes a tab's message to the hub. */
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
