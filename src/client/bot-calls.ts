import type {
  ActionOutcome,
  BotAction,
  CreateBotBody,
  Failover,
  Isolation,
  RestartPolicy,
  UpdateBotBody,
} from '../shared/contract/bots.js';
import type { BotSnapshot } from '../shared/contract/events.js';
import type { JsonObject } from '../shared/contract/json.js';
import type { Quota } from '../shared/contract/quota.js';
import type { BotFilter } from './event-filter.js';
import type { BotHistory, BotHistoryQuery } from './history.js';
import type { CallOptions, Http } from './http.js';
import { HISTORY, SNAPSHOT } from './response-shapes.js';

/** The fields of a new bot; omitted ones have their defaults. */
export type NewBot = Pick<CreateBotBody, 'id' | 'kind'> &
  Partial<Omit<CreateBotBody, 'id' | 'kind'>>;

/** One action for many bots, selected by id, by label, or both. */
export interface BotActions {
  action: BotAction;
  ids?: string[];
  labels?: Record<string, string>;
}

export interface BotConfig {
  config: JsonObject;
  /** Secrets that are set, as paths with dots; undefined when that is not known. */
  secrets?: string[];
  restart: RestartPolicy;
  dedicated: boolean;
  isolation: Isolation;
  host_group: string | null;
  quota: Quota;
  /** These three only in a cluster. */
  node?: string;
  node_labels?: Record<string, string>;
  failover?: Failover;
}

/** Calls about bots. */
export class BotCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * `GET /api/bots`: all bots, or those that the filter selects; with `sort` in the order of a field, like `data.gold` or
   * `-restarts`.
   */
  async list({
    status,
    kind,
    label,
    node,
    query,
    sort,
    signal,
  }: CallOptions & BotFilter & { sort?: string | undefined } = {}): Promise<BotSnapshot[]> {
    return this.#http.field('GET', '/api/bots', 'bots', [SNAPSHOT], {
      signal,
      query: { status, kind, label, node, query, sort },
    });
  }

  /** `POST /api/bots`: creates a bot and starts it. */
  async create(bot: NewBot, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', '/api/bots', { ...options, body: bot, shape: SNAPSHOT });
  }

  async get(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('GET', botPath(id), { ...options, shape: SNAPSHOT });
  }

  /** `GET /api/bots/{id}/history`: what its fields were, from the journal. 503 where the journal is off. */
  async history(
    id: string,
    { signal, ...query }: CallOptions & BotHistoryQuery,
  ): Promise<BotHistory> {
    return this.#http.json('GET', `${botPath(id)}/history`, { signal, query, shape: HISTORY });
  }

  /** `GET /api/bots/{id}/config`, without secrets. */
  async config(id: string, options?: CallOptions): Promise<BotConfig> {
    return this.#http.json('GET', `${botPath(id)}/config`, {
      ...options,
      shape: { config: 'object', restart: 'object' },
    });
  }

  /** `PATCH /api/bots/{id}`: omitted fields keep their values. */
  async update(id: string, change: UpdateBotBody, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('PATCH', botPath(id), { ...options, body: change, shape: SNAPSHOT });
  }

  /**
   * `DELETE /api/bots/{id}`: stops and deletes the bot.
   * @param options `node`: only what that node of a cluster has on its disk (`leftovers` of a node).
   */
  async delete(id: string, options: CallOptions & { node?: string } = {}): Promise<void> {
    const { node, ...rest } = options;
    await this.#http.send('DELETE', botPath(id), { ...rest, query: { node } });
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

  /** `POST /api/bots/{id}/move`: to that node of the cluster, with its host group. @returns how many bots move now. */
  async move(id: string, node: string, options?: CallOptions): Promise<number> {
    const request = { ...options, body: { node } };
    return this.#http.field('POST', `${botPath(id)}/move`, 'moving', 'number', request);
  }

  /** `POST /api/bots/actions`: one action for many bots. @returns the status or error of each. */
  async act(actions: BotActions, options?: CallOptions): Promise<Record<string, ActionOutcome>> {
    const request = { ...options, body: actions };
    return this.#http.field('POST', '/api/bots/actions', 'results', 'object', request);
  }
}

export function botPath(id: string): string {
  return `/api/bots/${encodeURIComponent(id)}`;
}
