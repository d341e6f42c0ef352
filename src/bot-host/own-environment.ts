// Runs in a bot host thread. What a bot changes in `process.env` is its own: `NODE_TLS_REJECT_UNAUTHORIZED` of one bot would end the
// checks of certificates of all.

import { currentOwner, kindCodeOf, type Owner } from './current-bot.js';
import { ownProperty } from './own-values.js';

/** Makes each bot that changes a variable have a copy of all. In a host process they are those of the process, also for Node. */
export function ownEnvironment(): void {
  const shared = process.env;
  const copies = new WeakMap<Owner, NodeJS.ProcessEnv>();
  const seen = (): NodeJS.ProcessEnv => {
    const owner = currentOwner();
    if (!owner) return shared;
    const code = kindCodeOf(owner);
    return copies.get(owner) ?? (code && copies.get(code)) ?? shared;
  };
  const changed = (): NodeJS.ProcessEnv => {
    const owner = currentOwner();
    if (!owner) return shared;
    const copy = copies.get(owner) ?? { ...seen() };
    copies.set(owner, copy);
    return copy;
  };
  const set = (name: string | symbol, value: unknown): boolean =>
    // Throws for a symbol, as Node does.
    Reflect.set(changed(), name, `${value}`);
  const own = new Proxy<NodeJS.ProcessEnv>(
    {},
    {
      get: (_, name) => Reflect.get(seen(), name),
      has: (_, name) => Reflect.has(seen(), name),
      ownKeys: () => Reflect.ownKeys(seen()),
      getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(seen(), name),
      set: (_, name, value) => set(name, value),
      defineProperty: (_, name, { value }) => set(name, value),
      deleteProperty: (_, name) => Reflect.deleteProperty(changed(), name),
    },
  );
  ownProperty(process, 'env', own);
}
