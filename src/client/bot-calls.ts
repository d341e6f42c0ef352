import type {
  ActionOutcome,
  ActionResults,
  BotActionsBody,
  BotConfig,
  CreateBotBody,
  UpdateBotBody,
} from '../shared/contract/bots.js';
import type { BotSnapshot } from '../shared/contract/events.js';
import type { Operation, OperationAnswer } from '../shared/contract/operations.js';
import type { GivenQuery } from '../shared/contract/routes/table.js';
import type { BotHistory, BotHistoryQuery } from './history.js';
import type { CallOptions, Http } from './http.js';
import { HISTORY, OPERATION, SNAPSHOT } from './response-shapes.js';

/** The fields of a new bot; omitted ones have their defaults. */
export type NewBot = Pick<CreateBotBody, 'id' | 'kind'> &
  Partial<Omit<CreateBotBody, 'id' | 'kind'>>;

/** One action for many bots, selected by id, by label, or both. */
export type BotActions = BotActionsBody;
export type { BotConfig };

/** An operation on many bots; `results` once it has ended. */
export type BegunActions = OperationAnswer & Partial<Pick<ActionResults, 'results'>>;

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
    signal,
    ...query
  }: CallOptions & GivenQuery<'GET /api/bots'> = {}): Promise<BotSnapshot[]> {
    return this.#http.field('GET /api/bots', [], 'bots', [SNAPSHOT], { signal, query });
  }

  /** `POST /api/bots`: creates a bot and starts it. */
  async create(bot: NewBot, options?: CallOptions): Promise<BotSnapshot> {
    const request = { ...options, body: bot, shape: SNAPSHOT };
    return (await this.#http.json('POST /api/bots', [], request)) as BotSnapshot;
  }

  /**
   * `POST /api/bots` with up to 10,000 bots, of which all are created or none. @param bots or NDJSON with one on each line.
   * @param query `wait`: how long to wait for the operation that starts them, in ms. @returns the operation as it is then.
   */
  async createMany(
    bots: readonly NewBot[] | string,
    { signal, ...query }: CallOptions & GivenQuery<'POST /api/bots'> = {},
  ): Promise<Operation> {
    const lines =
      typeof bots === 'string' ? bots : bots.map((bot) => JSON.stringify(bot)).join('\n');
    const request = { signal, query, lines, shape: { operation: OPERATION } };
    const answer = await this.#http.json('POST /api/bots', [], request);
    return (answer as OperationAnswer).operation;
  }

  async get(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('GET /api/bots/{id}', [id], { ...options, shape: SNAPSHOT });
  }

  /** `GET /api/bots/{id}/history`: what its fields were, from the journal. 503 where the journal is off. */
  async history(
    id: string,
    { signal, ...query }: CallOptions & BotHistoryQuery,
  ): Promise<BotHistory> {
    const request = { signal, query, shape: HISTORY };
    return this.#http.json('GET /api/bots/{id}/history', [id], request);
  }

  /** `GET /api/bots/{id}/config`, without secrets. */
  async config(id: string, options?: CallOptions): Promise<BotConfig> {
    return this.#http.json('GET /api/bots/{id}/config', [id], {
      ...options,
      shape: { config: 'object', restart: 'object' },
    });
  }

  /** `PATCH /api/bots/{id}`: omitted fields keep their values. */
  async update(id: string, change: UpdateBotBody, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('PATCH /api/bots/{id}', [id], {
      ...options,
      body: change,
      shape: SNAPSHOT,
    });
  }

  /**
   * `DELETE /api/bots/{id}`: stops and deletes the bot.
   * @param query `node`: only what that node of a cluster has on its disk (`leftovers` of a node).
   */
  async delete(
    id: string,
    { signal, ...query }: CallOptions & GivenQuery<'DELETE /api/bots/{id}'> = {},
  ): Promise<void> {
    await this.#http.send('DELETE /api/bots/{id}', [id], { signal, query });
  }

  async start(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST /api/bots/{id}/start', [id], { ...options, shape: SNAPSHOT });
  }

  async stop(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST /api/bots/{id}/stop', [id], { ...options, shape: SNAPSHOT });
  }

  async restart(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST /api/bots/{id}/restart', [id], { ...options, shape: SNAPSHOT });
  }

  /** `POST /api/bots/{id}/move`: to that node of the cluster, with its host group. @returns how many bots move now. */
  async move(id: string, node: string, options?: CallOptions): Promise<number> {
    const request = { ...options, body: { node } };
    return this.#http.field('POST /api/bots/{id}/move', [id], 'moving', 'number', request);
  }

  /** `POST /api/bots/actions`: one action for many bots. @returns the status or error of each. */
  async act(actions: BotActions, options?: CallOptions): Promise<Record<string, ActionOutcome>> {
    const request = { ...options, body: actions };
    return this.#http.field('POST /api/bots/actions', [], 'results', 'object', request);
  }

  /**
   * `POST /api/bots/actions`, for as long as `wait` says, in ms. @returns the operation; with the status or error of each bot if it has
   * ended by then.
   */
  async begin(
    actions: BotActions,
    { signal, ...query }: CallOptions & GivenQuery<'POST /api/bots/actions'> = {},
  ): Promise<BegunActions> {
    const request = { signal, query, body: actions, shape: { operation: OPERATION } };
    return this.#http.json('POST /api/bots/actions', [], request);
  }
}
