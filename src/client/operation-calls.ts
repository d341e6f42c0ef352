import type { OperationChange, RolloutChange } from '../shared/contract/operation-bounds.js';
import type {
  Operation,
  OperationBot,
  OperationBots,
  OperationList,
} from '../shared/contract/operations.js';
import type { StartRolloutBody } from '../shared/contract/rollouts.js';
import type { GivenQuery } from '../shared/contract/routes/table.js';
import type { CallOptions, Http } from './http.js';
import { OPERATION, OPERATION_BOT } from './response-shapes.js';

/** What is to be rolled out; the rest has defaults. */
export type StartRollout = Partial<StartRolloutBody>;

/** Calls about operations: what is done to many bots at once. */
export class OperationCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** `GET /api/operations`, newest first. `missing` has the nodes of a cluster that have not answered. */
  async list({
    signal,
    ...query
  }: CallOptions & GivenQuery<'GET /api/operations'> = {}): Promise<OperationList> {
    const request = { signal, query, shape: { operations: [OPERATION] } } as const;
    return this.#http.json('GET /api/operations', [], request);
  }

  /** `GET /api/operations/{id}`. @param query `wait`: for how long to wait for its end, in ms. */
  async get(
    id: string,
    { signal, ...query }: CallOptions & GivenQuery<'GET /api/operations/{id}'> = {},
  ): Promise<Operation> {
    return this.#http.json('GET /api/operations/{id}', [id], { signal, query, shape: OPERATION });
  }

  /** `GET /api/operations/{id}/bots`: a page of what has become of its bots; without `limit` all. */
  async bots(
    id: string,
    { signal, ...query }: CallOptions & GivenQuery<'GET /api/operations/{id}/bots'> = {},
  ): Promise<OperationBots> {
    const request = { signal, query, shape: { bots: [OPERATION_BOT] } } as const;
    return this.#http.json('GET /api/operations/{id}/bots', [id], request);
  }

  /** `POST /api/operations/{id}/pause`: begins no further bot until it is resumed. */
  pause(id: string, options?: CallOptions): Promise<Operation> {
    return this.#change(id, 'pause', options);
  }

  resume(id: string, options?: CallOptions): Promise<Operation> {
    return this.#change(id, 'resume', options);
  }

  /** `POST /api/operations/{id}/cancel`: begins no further bot; those that are running end. */
  cancel(id: string, options?: CallOptions): Promise<Operation> {
    return this.#change(id, 'cancel', options);
  }

  /** `POST /api/rollouts`. */
  async startRollout(body: StartRollout, options?: CallOptions): Promise<Operation> {
    return this.#http.json('POST /api/rollouts', [], { ...options, body, shape: OPERATION });
  }

  /** `POST /api/rollouts/{id}/promote`: it continues after its canaries. */
  promote(id: string, options?: CallOptions): Promise<Operation> {
    return this.#changeRollout(id, 'promote', options);
  }

  /** `POST /api/rollouts/{id}/abort`. @returns the operation that takes it back. */
  abort(id: string, options?: CallOptions): Promise<Operation> {
    return this.#changeRollout(id, 'abort', options);
  }

  /** `POST /api/rollouts/{id}/revert`. @returns the operation that takes it back. */
  revert(id: string, options?: CallOptions): Promise<Operation> {
    return this.#changeRollout(id, 'revert', options);
  }

  #changeRollout(id: string, change: RolloutChange, options?: CallOptions): Promise<Operation> {
    const request = { ...options, shape: OPERATION };
    return this.#http.json(`POST /api/rollouts/{id}/${change}`, [id], request);
  }

  #change(id: string, change: OperationChange, options?: CallOptions): Promise<Operation> {
    const request = { ...options, shape: OPERATION };
    return this.#http.json(`POST /api/operations/{id}/${change}`, [id], request);
  }
}

export type { Operation, OperationBot, OperationBots, OperationList };
