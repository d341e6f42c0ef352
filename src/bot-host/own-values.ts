// Runs in a bot host. Properties of shared objects that each bot sets for itself.

import http from 'node:http';
import https from 'node:https';
import nodeModule from 'node:module';
import { currentOwner, kindCodeOf, type Owner } from './current-bot.js';

/** The values that owners have given a property. They end with their owners. */
export class OwnValues {
  readonly #values = new WeakMap<Owner, unknown>();
  readonly #shared: unknown;

  /** @param shared the value for everyone who has set none. */
  constructor(shared: unknown) {
    this.#shared = shared;
  }

  /** The value that the owner has set, or its kind's module for all of its bots; undefined for none. */
  of(owner: Owner): unknown {
    if (this.#values.has(owner)) return this.#values.get(owner);
    const code = kindCodeOf(owner);
    return code && this.#values.get(code);
  }

  set(owner: Owner, value: unknown): void {
    // Setting the shared value again removes the owner's value, as packages do when they clean up.
    if (value === this.#shared) this.#values.delete(owner);
    else this.#values.set(owner, value);
  }
}

/** Makes what a bot assigns to the property its own: others, and the host, do not see it. */
export function ownProperty(
  target: object,
  name: string,
  shared = Reflect.get(target, name),
): void {
  const values = new OwnValues(shared);
  const { enumerable = false } = Reflect.getOwnPropertyDescriptor(target, name) ?? {};
  Object.defineProperty(target, name, {
    get() {
      const owner = currentOwner();
      return owner ? (values.of(owner) ?? shared) : shared;
    },
    set(value: unknown) {
      const owner = currentOwner();
      if (owner) values.set(owner, value);
    },
    enumerable,
    // Not configurable: otherwise one bot could remove the property for all.
    configurable: false,
  });
}

/** Functions that packages replace for their own code, and that other bots or the host call too. */
const REPLACED: readonly (readonly [object, readonly string[]])[] = [
  [http, ['get', 'request']],
  [https, ['get', 'request']],
  [nodeModule, ['_load', '_resolveFilename']],
  [
    globalThis,
    [
      'AbortController',
      'AbortSignal',
      'Event',
      'EventTarget',
      'TextDecoder',
      'TextEncoder',
      'URL',
      'console',
      'fetch',
      'structuredClone',
    ],
  ],
];

/** Gives each bot its own values of these. */
export function ownReplaced(): void {
  for (const [target, names] of REPLACED) for (const name of names) ownProperty(target, name);
}
