import type { TSchema } from '../../shared/contract/typebox.js';
import type { RouteName } from '../table/route-table.js';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [k: string]: JsonValue };
export type JsonSchema = { [key: string]: JsonValue };

export interface Header {
  name: string;
  description: string;
  example: string;
}

/** A response that is not an error. */
export interface Content {
  description: string;
  /** Media type. Default `application/json`. */
  type?: string;
  schema?: TSchema;
  example?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** The same in other media types. */
  more?: Readonly<Record<string, TSchema>>;
  /** For an event stream: the schema of `data` by name of `event:`. */
  events?: Readonly<Record<string, TSchema>>;
}

export interface Operation {
  /** `operationId`: the name of a generated client's function. */
  id: string;
  tag: Tag;
  summary: string;
  /** Paragraphs in Markdown; only backticks are supported. */
  description?: string;
  headers?: readonly Header[];
  body?: { schema: TSchema; example: unknown };
  /** Responses that are not errors, by status. */
  responses: Readonly<Record<number, Content>>;
  /** Errors by status, and when they occur. Those of all routes are added. */
  errors?: Readonly<Record<number, string>>;
}

/** Descriptions of some of the routes. */
export type Operations = Partial<Readonly<Record<RouteName, Operation>>>;

/** Chapters of the page, in its order. */
export const TAGS = {
  Authentication: 'PIN, tokens, tickets.',
  Events: 'What bots and the service do, live and from the journal.',
  Bots: 'List, create, control and delete bots.',
  Commands: 'Send commands to bots and to the service.',
  Rules: 'What is watched, and when it becomes an alert.',
  Nodes: 'The nodes of a cluster.',
  Service: 'Health, capacity, metrics and this documentation.',
} as const;
export type Tag = keyof typeof TAGS;
