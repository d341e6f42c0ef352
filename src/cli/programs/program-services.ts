// The messages that a program sends unasked, handled as a service does.

import type { JsonObject } from '../../client/index.js';
import { TRIAL_BOT } from '../../main/bots/kind-trial.js';
import type { LogItem } from '../../shared/contract/events.js';
import { messageOf } from '../../shared/errors.js';
import type { NetworkRules } from '../../shared/network-rules.js';
import type { TrialOutput } from '../commands/trial-output.js';
import { type Answer, isObject } from './program-peer.js';

const LEVELS = ['info', 'warn', 'error', 'state'] as const;
const TRANSPORTS = ['tcp', 'http'] as const;
const DIRECTIONS = ['outgoing', 'incoming'] as const;
/** Of a body that `fetch` brings. */
const MAX_BODY_BYTES = 2 ** 20;
const FETCH_MS = 30_000;

type Line = Pick<LogItem, 'level' | 'scope'> & Partial<LogItem>;

export class ProgramServices {
  readonly #output: TrialOutput;
  readonly #network: NetworkRules;
  readonly #fault: (what: string) => void;

  constructor(output: TrialOutput, network: NetworkRules, fault: (what: string) => void) {
    this.#output = output;
    this.#network = network;
    this.#fault = fault;
  }

  notified(method: string, params: JsonObject): void {
    const wrong = this.#wrongParams(method, params);
    if (wrong !== null) {
      this.#fault(wrong);
      return;
    }
    const { report } = this.#output;
    const { level, message, scope, status, patch, transport, direction, correlation_id } =
      params as unknown as Params;
    if (method === 'log') this.line({ level, scope: scope ?? 'bot' }, message);
    else if (method === 'wire') {
      const wire = { level: 'info', scope: scope ?? transport, transport, direction } as const;
      this.line(correlation_id === undefined ? wire : { ...wire, correlation_id }, message);
    } else if (method === 'status') this.#output.setStatus(status);
    else {
      for (const [name, value] of Object.entries(patch)) {
        if (value === null) delete report.data[name];
        else report.data[name] = value;
      }
    }
  }

  async asked(method: string, params: JsonObject): Promise<Answer> {
    if (method !== 'fetch') {
      this.#fault(`it calls ${JSON.stringify(method)}, which no host provides`);
      return { error: { code: -32601, message: `there is no method ${method}` } };
    }
    const { url, scope = 'http', timeout_ms = FETCH_MS } = params;
    if (typeof url !== 'string' || !/^https?:/.test(url) || !URL.canParse(url)) {
      const message = 'params.url must be an address with http or https';
      this.#fault(`it asks for fetch: ${message}`);
      return { error: { code: -32602, message } };
    }
    try {
      return { result: await this.#fetch(new URL(url), params, String(scope), Number(timeout_ms)) };
    } catch (thrown) {
      return { error: { code: -32000, message: messageOf(thrown) } };
    }
  }

  line(of: Line, message: string): void {
    const plain = { kind: 'log', session_id: TRIAL_BOT, transport: null, direction: null } as const;
    const message_json = JSON.stringify(message);
    this.#output.line({ ...plain, timestamp_ms: Date.now(), ...of, message_json });
  }

  async #fetch(url: URL, params: JsonObject, scope: string, ms: number): Promise<JsonObject> {
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    if (!this.#network.allows(url.hostname, port)) {
      throw new Error(`network.allow does not let bots connect to ${url.hostname}:${port}`);
    }
    const { method = 'GET', headers = {}, body = null } = params;
    const line = `${method} ${url.origin}${url.pathname}`;
    const wire = { level: 'info', scope, transport: 'http' } as const;
    this.line({ ...wire, direction: 'outgoing' }, line);
    const response = await fetch(url, {
      method: method as string,
      headers: headers as Record<string, string>,
      body: body as string | null,
      signal: AbortSignal.timeout(ms),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    this.line({ ...wire, direction: 'incoming' }, `${response.status} ${line}`);
    if (bytes.length > MAX_BODY_BYTES) throw new Error('the body has more than 1 MiB');
    const text = bytes.toString('utf8');
    const isText = Buffer.from(text).equals(bytes);
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      ...(isText ? { body: text } : { body: bytes.toString('base64'), base64: true }),
    };
  }

  /** What is wrong with a notification; null if nothing is. */
  #wrongParams(method: string, params: JsonObject): string | null {
    const must = (what: string): string => `its notification ${method}: params.${what}`;
    const oneOf = (name: string, values: readonly string[]): string | null =>
      values.includes(params[name] as string)
        ? null
        : must(`${name} must be one of ${values.join(', ')}`);
    const text = (name: string): string | null =>
      typeof params[name] === 'string' ? null : must(`${name} must be string`);
    const scope = params['scope'] === undefined ? null : text('scope');
    switch (method) {
      case 'log':
        return oneOf('level', LEVELS) ?? text('message') ?? scope;
      case 'wire':
        return (
          oneOf('transport', TRANSPORTS) ??
          oneOf('direction', DIRECTIONS) ??
          text('message') ??
          scope ??
          (params['correlation_id'] === undefined ? null : text('correlation_id'))
        );
      case 'status':
        return text('status');
      case 'data':
        return isObject(params['patch']) ? null : must('patch must be object');
      default:
        return `it sends the notification ${JSON.stringify(method)}, which no host knows`;
    }
  }
}

interface Params {
  level: (typeof LEVELS)[number];
  transport: (typeof TRANSPORTS)[number];
  direction: (typeof DIRECTIONS)[number];
  message: string;
  scope?: string;
  correlation_id?: string;
  status: string;
  patch: JsonObject;
}
