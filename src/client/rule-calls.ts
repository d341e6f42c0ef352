import type { CreateRuleBody, Rule } from '../shared/contract/rules.js';
import type { CallOptions, Http } from './http.js';
import { RULE } from './response-shapes.js';

/** Calls about rules. They need a token that is not limited to some bots. */
export class RuleCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** `GET /api/rules`: all, by name, with their states. */
  async list(options?: CallOptions): Promise<Rule[]> {
    return this.#http.field('GET /api/rules', [], 'rules', [RULE], { ...options });
  }

  async create(rule: CreateRuleBody, options?: CallOptions): Promise<Rule> {
    return this.#http.json('POST /api/rules', [], { ...options, body: rule, shape: RULE });
  }

  /** `PUT /api/rules/{id}`: its state begins again. @param rule all of it. */
  async replace(id: string, rule: CreateRuleBody, options?: CallOptions): Promise<Rule> {
    return this.#http.json('PUT /api/rules/{id}', [id], { ...options, body: rule, shape: RULE });
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE /api/rules/{id}', [id], options);
  }
}
