// Runs in clients, in Node and in browsers. Owns the calls about bots.

import type {
  ActionOutcome,
  BotAction,
  CreateBotBody,
  RestartPolicy,
  UpdateBotBody,
} from '../shared/contract/bots.js';
import type { BotSnapshot, JsonObject } from '../shared/contract/events.js';
import type { CallOptions, Http } from './http.js';
import { SNAPSHOT } from './response-shapes.js';

/** What a bot is created from; what is left out has its default. */
export type NewBot = Pick<CreateBotBody, 'id' | 'kind'> &
  Partial<Omit<CreateBotBody, 'id' | 'kind'>>;

/** One action for many bots: by id, by label, or both. */
export interface BotActions {
  action: BotAction;
  ids?: string[];
  labels?: Record<string, string>;
}

export interface BotConfig {
  config: JsonObject;
  restart: RestartPolicy;
  dedicated: boolean;
}

/** Calls about bots. */
export class BotCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** `GET /api/bots`, those with one of these statuses and kinds. */
  async list({
    status,
    kind,
    signal,
  }: CallOptions & { status?: readonly string[]; kind?: readonly string[] } = {}): Promise<
    BotSnapshot[]
  > {
    return this.#http.part('GET', '/api/bots', 'bots', [SNAPSHOT], {
      signal,
      query: { status, kind },
    });
  }

  /** `POST /api/bots`: adds a bot and starts it. */
  async create(bot: NewBot, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', '/api/bots', { ...options, body: bot, shape: SNAPSHOT });
  }

  async get(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('GET', botPath(id), { ...options, shape: SNAPSHOT });
  }

  /** `GET /api/bots/{id}/config`, without what is secret. */
  async config(id: string, options?: CallOptions): Promise<BotConfig> {
    return this.#http.json('GET', `${botPath(id)}/config`, {
      ...options,
      shape: { config: 'object', restart: 'object' },
    });
  }

  /** `PATCH /api/bots/{id}`: what is left out stays. */
  async update(id: string, change: UpdateBotBody, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('PATCH', botPath(id), { ...options, body: change, shape: SNAPSHOT });
  }

  /** `DELETE /api/bots/{id}`: stops it and forgets it. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE', botPath(id), options);
  }

  async start(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/start`, { ...options, shape: SNAPSHOT });
  }

  async stop(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/stop`, { ...options, shape: SNAPSHOT });
  }

  async restart(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/restart`, { ...options, shape: SNAPSHOT });
  }

  /** `POST /api/bots/actions`: one action for many. @returns of each its status or its error. */
  async act(actions: BotActions, options?: CallOptions): Promise<Record<string, ActionOutcome>> {
    const request = { ...options, body: actions };
    return this.#http.part('POST', '/api/bots/actions', 'results', 'object', request);
  }
}

export function botPath(id: string): string {
  return `/api/bots/${encodeURIComponent(id)}`;
}
