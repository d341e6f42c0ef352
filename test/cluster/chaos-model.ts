// What must be true of bots and tokens after all changes that were asked for: an answer of 2xx is a promise, one of 4xx is another, and
// after anything else both the old and the new are right.

import { type Answer, call } from '../harness/api.js';
import type { Service } from '../harness/service.js';
import type { ClusterSnapshot } from './service.js';

/** `gone`, `runs 3` or `stopped 3`, with the last value of the label `v`. A token is `valid` or `gone`. */
type Fate = string;
type Change = (fate: Fate) => Fate;

export interface Subject {
  id: string;
  fates: Set<Fate>;
  isBusy: boolean;
  /** What was asked may still happen: nothing more is asked, because it could come in between. */
  isOpen: boolean;
  /** What was asked, with when it was answered, and the answer. */
  asked: string[];
}

/** A bot in a list. */
export interface Shown extends ClusterSnapshot {
  labels: Record<string, string>;
}

/** Stands for `the cluster does not accept the change`, which says that nothing of it was stored or will be. */
const REFUSED = /^the cluster does not accept the change: /;

export class ChaosModel {
  /** 2xx, 4xx, 5xx and requests without an answer, by what was asked. */
  readonly counts = new Map<string, number>();
  readonly bots: Subject[] = [];
  /** With the secrets as ids. */
  readonly tokens: (Subject & { token: string })[] = [];
  readonly #options: { random: () => number; body: object; most: number };
  #made = 0;
  #version = 0;

  /** @param options.body of each bot. @param options.most bots at once. */
  constructor(options: { random: () => number; body: object; most: number }) {
    this.#options = options;
  }

  /** Asks one node for one change of a bot. */
  async changeBot(service: Service, name: string): Promise<void> {
    const { random, most } = this.#options;
    const free = this.bots.filter(({ isBusy, isOpen }) => !isBusy && !isOpen);
    const there = free.filter(({ fates }) => !fates.has('gone'));
    const chance = random();
    const all = this.bots.filter(({ fates }) => fates.size > 1 || !fates.has('gone'));
    if (all.length < most && chance < 0.4) return this.create(service, name);
    const bot = there[Math.floor(random() * there.length)];
    if (!bot) return;
    if (there.length > most / 2 && chance > 0.85)
      return await this.#ask(
        bot,
        `delete by ${name}`,
        () => call(service, 'DELETE', path(bot)),
        gone,
      );
    if (chance > 0.6) {
      const isRunning = [...bot.fates].some((fate) => fate.startsWith('runs'));
      const [action, into] = isRunning ? ['stop', 'stopped'] : ['start', 'runs'];
      const send = (): Promise<Answer> => call(service, 'POST', `${path(bot)}/${action}`);
      return this.#ask(bot, `${action} by ${name}`, send, (fate) =>
        fate === 'gone' ? fate : `${into} ${fate.split(' ')[1]}`,
      );
    }
    return this.#update(bot, service, name);
  }

  #update(bot: Subject, service: Service, name: string): Promise<void> {
    const v = String(++this.#version);
    const send = (): Promise<Answer> =>
      call(service, 'PATCH', path(bot), { body: { labels: { v } } });
    return this.#ask(bot, `update to ${v} by ${name}`, send, (fate) =>
      fate === 'gone' ? fate : `${fate.split(' ')[0]} ${v}`,
    );
  }

  /** A new bot, or again one that was deleted. */
  async create(service: Service, name: string): Promise<void> {
    const again = this.bots.find(
      ({ fates, isBusy, isOpen }) => !isBusy && !isOpen && fates.size === 1 && fates.has('gone'),
    );
    const bot = again ?? subject(`b${++this.#made}`, 'gone');
    if (!again) this.bots.push(bot);
    const v = String(++this.#version);
    const body = { ...this.#options.body, id: bot.id, labels: { v } };
    const send = (): Promise<Answer> => call(service, 'POST', '/api/bots', { body });
    await this.#ask(bot, `create ${v} by ${name}`, send, () => `runs ${v}`);
  }

  /** Makes a token on one node, or revokes one. */
  async changeToken(service: Service): Promise<void> {
    const free = this.tokens.filter(
      ({ isBusy, isOpen, fates }) => !isBusy && !isOpen && fates.has('valid'),
    );
    const [token] = free;
    if (token && this.#options.random() < 0.5) {
      const send = (): Promise<Answer> => call(service, 'DELETE', `/api/tokens/${token.id}`);
      return this.#ask(token, 'revoke', send, gone);
    }
    const made = { ...subject('', 'gone'), token: '' };
    const send = async (): Promise<Answer> => {
      const body = { name: 'chaos', scopes: ['read'] };
      const answer = await call(service, 'POST', '/api/tokens', { body });
      Object.assign(made, answer.json as object);
      return answer;
    };
    await this.#ask(made, 'token', send, () => 'valid');
    // Without an answer there is no secret to try.
    if (made.fates.has('valid') && !made.isOpen) this.tokens.push(made);
  }

  /** @returns what a list of bots contradicts. */
  contradictions(shown: readonly Shown[]): string[] {
    const found = fatesOf(shown);
    const wrong: string[] = [];
    for (const { id, fates, asked } of this.bots) {
      const fate = found.get(id) ?? 'gone';
      found.delete(id);
      if (!fates.has(fate))
        wrong.push(`${id} is ${fate}, not ${[...fates].join(' or ')}: ${asked.at(-1)}`);
    }
    for (const [id, fate] of found) wrong.push(`${id} is ${fate}, and nobody made it`);
    return wrong;
  }

  /** Changes bots of which a change without an answer may still come, once: after the answer to this it cannot. */
  async overtake(service: Service, name: string): Promise<void> {
    for (const bot of this.bots.filter(({ isOpen }) => isOpen))
      await this.#update(bot, service, name);
  }

  /** Takes what is shown for what became of changes without an answer. Nothing may be on its way. */
  resolve(shown: readonly Shown[]): void {
    const found = fatesOf(shown);
    for (const bot of this.bots) {
      bot.fates = new Set([found.get(bot.id) ?? 'gone']);
      bot.isOpen = false;
    }
  }

  get summary(): string {
    return [...this.counts].map(([what, count]) => `${count} ${what}`).join(', ');
  }

  async #ask(
    of: Subject,
    what: string,
    send: () => Promise<Answer>,
    change: Change,
  ): Promise<void> {
    of.isBusy = true;
    const answer = await send().catch(() => null);
    const status = answer?.status ?? 0;
    const said = answer
      ? `${status} ${status < 300 ? '' : answer.text.slice(0, 200)}`
      : 'no answer';
    of.asked.push(`${new Date().toISOString()} ${what}: ${said}`);
    const [verb = ''] = what.split(' ');
    const key = `${verb} ${status === 0 ? 'unanswered' : `${Math.floor(status / 100)}xx`}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    const after = [...of.fates].map(change);
    const isChanged = status >= 200 && status < 300;
    if (isChanged) of.fates = new Set(after);
    if (isChanged || status === 404) of.isOpen = false;
    else if (status < 400 || status >= 500) {
      of.fates = new Set([...of.fates, ...after]);
      const { error = '' } = (answer?.json ?? {}) as { error?: string };
      of.isOpen = !REFUSED.test(error);
    }
    of.isBusy = false;
  }
}

function fatesOf(shown: readonly Shown[]): Map<string, Fate> {
  return new Map(
    shown.map(({ id, status, labels }) => [
      id,
      `${status === 'online' ? 'runs' : status} ${labels['v']}`,
    ]),
  );
}

const gone = (): Fate => 'gone';
const path = ({ id }: Subject): string => `/api/bots/${id}`;

function subject(id: string, fate: Fate): Subject {
  return { id, fates: new Set([fate]), isBusy: false, isOpen: false, asked: [] };
}
