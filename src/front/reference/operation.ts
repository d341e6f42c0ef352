// Pure; used by the fronts. Owns what is said of one route in the API's description.

import type { TSchema } from '../../contract/typebox.js';
/** A query parameter or header. */
export interface Parameter {
  name: string;
  in: 'query' | 'header';
  description: string;
  schema: object;
  example?: string | number;
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
  parameters?: readonly Parameter[];
  body?: { schema: TSchema; example: unknown };
  /** Answers that are no errors, by status. */
  answers: Readonly<Record<number, Content>>;
  /** Its own errors, by status: when it gives them. Those that every route can give are added. */
  errors?: Readonly<Record<number, string>>;
}

export const TAGS = {
  Service: 'Whether it lives, how it is, what it is made of.',
  Authentication: 'A PIN for a token, tokens, tickets.',
  Events: 'Everything that bots and the service do, as it happens.',
  Bots: 'What there is, and what is done with it.',
  Commands: 'What bots and the service are told to do.',
} as const;
export type Tag = keyof typeof TAGS;

/** Several values of one parameter, as the service reads them. */
export function listOf(name: string, description: string, example: string): Parameter {
  return {
    name,
    in: 'query',
    description: `${description} Several values: comma-separated, repeated, or both.`,
    schema: { type: 'string' },
    example,
  };
}
