// Runs in a bot host. Functions that Node calls from outside of a promise chain, with the context of the first caller, or none: each
// runs with the context of the bot that gave it, for what that bot does, and what it throws is that bot's.

import asyncHooks from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import nodeModule from 'node:module';
import perfHooks from 'node:perf_hooks';
import v8 from 'node:v8';
import { currentOwner, type Owner } from './current-bot.js';
import { isOwn, onRelease, runContained } from './own-listeners.js';

type Callback = (...args: unknown[]) => unknown;

/** Replaces functions of Node's modules. Before they are published to modules that import them by name. */
export function ownCallbacks(): void {
  ownMicrotasks();
  ownHooks();
  ownPromiseHooks();
  ownChannels();
  ownLoaderHooks();
  ownConstructor(globalThis, 'FinalizationRegistry');
  ownConstructor(globalThis, 'PerformanceObserver', disconnect);
  perfHooks.PerformanceObserver = PerformanceObserver;
}

/** Node has left the context of a microtask when it hears of its error. */
function ownMicrotasks(): void {
  const { queueMicrotask } = globalThis;
  globalThis.queueMicrotask = (task) => {
    const owner = typeof task === 'function' ? currentOwner() : undefined;
    queueMicrotask(owner ? () => runContained(owner, task) : task);
  };
}

function disconnect(made: object): void {
  (made as { disconnect(): void }).disconnect();
}

/** Replaces the constructor of a class whose first argument is a callback. */
function ownConstructor(
  target: typeof globalThis,
  name: 'FinalizationRegistry' | 'PerformanceObserver',
  release?: (made: object) => void,
): void {
  const given = target[name];
  Reflect.set(
    target,
    name,
    new Proxy(given, {
      construct(made, [callback, ...more], newTarget: Callback) {
        const owner = typeof callback === 'function' ? currentOwner() : undefined;
        if (!owner) return Reflect.construct(made, [callback, ...more], newTarget) as object;
        const contained: Callback = (...args) =>
          runContained(owner, () => (callback as Callback)(...args));
        const object = Reflect.construct(made, [contained, ...more], newTarget) as object;
        if (release) onRelease(owner, () => release(object));
        return object;
      },
    }),
  );
  // The one that each object leads to.
  Reflect.set(given.prototype, 'constructor', target[name]);
}

/**
 * A throw in one of them would end the process. So it ends the bot, without its listeners: they would run inside of the hook.
 */
function hooked(
  owner: Owner,
  callback: unknown,
  isMeant = (_id: unknown) => isOwn(owner),
): unknown {
  if (typeof callback !== 'function') return callback;
  let hasThrown = false;
  return function (this: unknown, ...args: unknown[]): void {
    if (hasThrown || !isMeant(args[0])) return;
    try {
      Reflect.apply(callback, this, args);
    } catch (thrown) {
      hasThrown = true;
      owner.fail(thrown);
    }
  };
}

function ownHooks(): void {
  const { createHook } = asyncHooks;
  /** Node's module domain makes one for all of its domains, which throws nothing, when it is loaded. */
  let hasDomain = isDomainLoaded();
  Reflect.set(asyncHooks, 'createHook', (callbacks: Record<string, unknown>) => {
    const owner = currentOwner();
    const isOfDomain = !hasDomain && isDomainLoaded();
    if (isOfDomain) hasDomain = true;
    if (!owner || isOfDomain || typeof callbacks !== 'object' || callbacks === null) {
      return createHook(callbacks);
    }
    const own = Object.entries(callbacks).map(([name, callback]) => [
      name,
      hooked(owner, callback),
    ]);
    const hook = createHook(withDestroy(owner, Object.fromEntries(own), callbacks['destroy']));
    onRelease(owner, () => hook.disable());
    return hook;
  });
}

/** It makes the property an accessor, before its hook. */
function isDomainLoaded(): boolean {
  return Reflect.getOwnPropertyDescriptor(process, 'domain')?.get !== undefined;
}

/** Node destroys resources in no context: those that the owner has made are noted. Bounded by the resources that there are. */
function withDestroy(
  owner: Owner,
  callbacks: Record<string, unknown>,
  destroy: unknown,
): Record<string, unknown> {
  if (typeof destroy !== 'function') return callbacks;
  const made = new Set<unknown>();
  const { init } = callbacks as { init?: Callback };
  return {
    ...callbacks,
    init(this: unknown, ...args: unknown[]): void {
      if (isOwn(owner)) made.add(args[0]);
      if (init) Reflect.apply(init, this, args);
    },
    destroy: hooked(owner, destroy, (id) => made.delete(id)),
  };
}

function ownPromiseHooks(): void {
  const given = v8.promiseHooks as unknown as Record<string, Callback>;
  // Gives bots another object, because Node uses the original.
  const hooks = { ...given };
  Reflect.set(v8, 'promiseHooks', hooks);
  for (const name of ['onInit', 'onBefore', 'onAfter', 'onSettled']) {
    const add = hooks[name] as (callback: unknown) => () => void;
    hooks[name] = (callback) => {
      const owner = currentOwner();
      if (!owner) return add(callback);
      const stop = add(hooked(owner, callback));
      onRelease(owner, stop);
      return stop;
    };
  }
  const { createHook } = given as unknown as {
    createHook: (callbacks: Record<string, unknown>) => () => void;
  };
  hooks['createHook'] = (callbacks: unknown) => {
    const owner = currentOwner();
    const all = callbacks as Record<string, unknown>;
    if (!owner || typeof all !== 'object' || all === null) return createHook(all);
    const own = Object.entries(all).map(([name, callback]) => [name, hooked(owner, callback)]);
    const stop = createHook(Object.fromEntries(own));
    onRelease(owner, stop);
    return stop;
  };
}

interface Channel {
  subscribe(callback: unknown): void;
  unsubscribe(callback: unknown): boolean;
  bindStore(store: unknown, transform?: unknown): void;
}

/** Publishers are Node, packages and other bots: a subscriber gets what its own bot does. */
function ownChannels(): void {
  // The class of a channel with subscribers is not exported.
  const probe = diagnostics.channel('drover.probe');
  const nothing = (): void => {};
  probe.subscribe(nothing);
  const active = Object.getPrototypeOf(probe) as Channel;
  probe.unsubscribe(nothing);
  const { subscribe, unsubscribe, bindStore } = active;
  /** The wrapped subscribers, by the function that was given. */
  const given = new WeakMap<object, unknown[]>();
  active.subscribe = function (this: Channel, callback) {
    const owner = currentOwner();
    if (!owner || typeof callback !== 'function') return subscribe.call(this, callback);
    const own = (...args: unknown[]): void => {
      if (isOwn(owner)) runContained(owner, () => (callback as Callback)(...args));
    };
    given.set(callback, [...(given.get(callback) ?? []), own]);
    onRelease(owner, () => this.unsubscribe(own));
    return subscribe.call(this, own);
  };
  active.unsubscribe = function (this: Channel, callback) {
    const own = typeof callback === 'function' ? given.get(callback) : undefined;
    return own?.some((each) => unsubscribe.call(this, each)) || unsubscribe.call(this, callback);
  };
  active.bindStore = function (this: Channel, store, transform) {
    const owner = currentOwner();
    if (!owner || typeof transform !== 'function') return bindStore.call(this, store, transform);
    return bindStore.call(this, store, (...args: unknown[]) =>
      isOwn(owner) ? runContained(owner, () => (transform as Callback)(...args)) : undefined,
    );
  };
}

/** Hooks of the module loader, since Node 22.15: for what the bot imports. */
function ownLoaderHooks(): void {
  const { registerHooks } = nodeModule as unknown as {
    registerHooks?: (hooks: Record<string, Callback>) => { deregister(): void };
  };
  if (!registerHooks) return;
  Reflect.set(nodeModule, 'registerHooks', (hooks: Record<string, Callback>) => {
    const owner = currentOwner();
    if (!owner) return registerHooks(hooks);
    const own = Object.entries(hooks).map(([name, hook]): [string, Callback] => [
      name,
      (...args) => (isOwn(owner) ? hook(...args) : (args.at(-1) as Callback)(...args.slice(0, -1))),
    ]);
    const handle = registerHooks(Object.fromEntries(own));
    onRelease(owner, () => handle.deregister());
    return handle;
  });
}
