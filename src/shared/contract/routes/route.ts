// The type of an entry in the table of routes.

import type { ActivityName } from '../activity.js';
import type { Scope } from '../tokens.js';
import type { TSchema } from '../typebox.js';
import type { QuerySchema } from './parameters.js';

/** The access that a caller needs: a scope, any valid token, or nothing. */
export type Access = Scope | 'any token' | 'nothing';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

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
  /** The response in other media types. */
  more?: Readonly<Record<string, TSchema>>;
  /** For an event stream: the schema of `data` by name of `event:`. */
  events?: Readonly<Record<string, TSchema>>;
}

export interface Route {
  /** `operationId`: the name of a generated client's function. */
  id: string;
  access: Access;
  /** What a request is, on the stream; absent for one that changes nothing. */
  activity?: ActivityName;
  /**
   * Ignores unknown and repeated query parameters. For routes without parameters that programs of others call, which add their own
   * (monitors, scrapers, browsers), and those of docs/INTERFACE.md, which forbids none.
   */
  takesAnyQuery?: true;
  /** Bytes of its body, where that is not http.max_body_bytes. */
  maxBodyBytes?: number;
  tag: Tag;
  summary: string;
  /** Paragraphs in Markdown; only backticks are supported. */
  description?: string;
  headers?: readonly Header[];
  query?: QuerySchema;
  /** Its schema is one of src/shared/schemas.ts. */
  body?: { schema: TSchema; example: unknown };
  /** Responses that are not errors, by status. */
  answers: Readonly<Record<number, Content>>;
  /** Errors by status, and when they occur. Those of all routes are added. */
  errors?: Readonly<Record<number, string>>;
}

export type Routes = Readonly<Record<`${Method} /${string}`, Route>>;

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
