// Runs in a bot host. Properties of shared objects that each bot sets for itself.

import { currentOwner, kindCodeOf, type Owner } from './current-bot.js';

/** What owners have set a property to. It goes with them. */
export class OwnValues {
  readonly #values = new WeakMap<Owner, unknown>();
  readonly #shared: unknown;

  /** @param shared what those see who have set nothing. */
  constructor(shared: unknown) {
    this.#shared = shared;
  }

  /** What the owner has set, or its kind's module for all of its bots; undefined for no such value. */
  of(owner: Owner): unknown {
    if (this.#values.has(owner)) return this.#values.get(owner);
    const code = kindCodeOf(owner);
    return code && this.#values.get(code);
  }

  set(owner: Owner, value: unknown): void {
    // As after their clean-up.
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
    configurable: true,
  });
}
