// Pure; used by the fronts. Owns what is said of one route in the API's description.

import type { QuerySchema } from '../../shared/contract/queries.js';
import type { TSchema } from '../../shared/contract/typebox.js';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [k: string]: JsonValue };
export type JsonSchema = { [key: string]: JsonValue };

/** A header that a request may have. */
export interface Header {
  name: string;
  description: string;
}

/** What an answer that is no error holds. */
export interface Content {
  description: string;
  /** Media type. Default `application/json`. */
  type?: string;
  schema?: TSchema;
  example?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** The same in other media types. */
  more?: Readonly<Record<string, TSchema>>;
  /** Of an event stream: the schema of `data` for each name of `event:`. */
  events?: Readonly<Record<string, TSchema>>;
}

export interface Operation {
  /** `operationId`: the name of a generated client's function. */
  id: string;
  tag: Tag;
  summary: string;
  /** Paragraphs; text between backticks is code. */
  description?: string;
  /** What it takes behind the `?`. */
  query?: QuerySchema;
  headers?: readonly Header[];
  body?: { schema: TSchema; example: unknown };
  /** Answers that are no errors, by status. */
  answers: Readonly<Record<number, Content>>;
  /** Its own errors, by status: when it gives them. Those that every route can give are added. */
  errors?: Readonly<Record<number, string>>;
}

/** In the order of the page: what one needs first, first. */
export const TAGS = {
  Authentication: 'A PIN for a token, tokens, tickets.',
  Events: 'Everything that bots and the service do, as it happens.',
  Bots: 'What there is, and what is done with it.',
  Commands: 'What bots and the service are told to do.',
  Service: 'Whether it lives, how it is, what it is made of.',
} as const;
export type Tag = keyof typeof TAGS;
