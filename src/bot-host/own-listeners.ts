// Runs in a bot host. Owns the listeners, hooks and callbacks that bots have registered with Node: they go with their bots, and an
// error of one ends its bot. Bounded by what the bots register; nothing is kept of a bot that registers nothing.

import { EventEmitter } from 'node:events';
import { currentOwner, kindCodeOf, type Owner, runAsBot } from './current-bot.js';
import { isError, reasonOf } from './value-text.js';

export type Origin = 'uncaughtException' | 'unhandledRejection';

/** The registrations of an owner. */
interface Own {
  /** Its listeners on `process`. Inherits from that, because listeners get it as `this`. */
  readonly emitter: EventEmitter;
  /** The callback of `process.setUncaughtExceptionCaptureCallback`. */
  capture: ((error: unknown) => void) | null;
  /** In place of `process.emit`. */
  emit: ((event: string | symbol, ...args: unknown[]) => boolean) | null;
  readonly releases: (() => void)[];
}

const owns = new Map<Owner, Own>();
/** Owners that have ended and register nothing more. */
const released = new WeakSet<Owner>();
/** The last error of an owner that listeners got, its own or those of its kind's module. */
const lastErrors = new WeakMap<Owner, unknown>();
/** Errors that end the code that has called `process.exit`: that call has ended its run. */
const ends = new WeakSet<object>();
/** The owner whose replacement of `process.emit` runs. */
let hearing: Own | undefined;

/** The methods of an emitter in place of those that `process` has for bots. */
const asEmitter = Object.create(process, Object.getOwnPropertyDescriptors(EventEmitter.prototype));
const { emit } = EventEmitter.prototype;

/** The registrations of the owner, made with the first one. */
export function ownOf(owner: Owner): Own {
  const known = owns.get(owner);
  if (known) return known;
  const emitter = Object.create(asEmitter) as EventEmitter;
  Reflect.apply(EventEmitter, emitter, []);
  const own: Own = { emitter, capture: null, emit: null, releases: [] };
  if (!released.has(owner)) owns.set(owner, own);
  return own;
}

/** A property of the owner's emitter; undefined before its first listener. */
export function tableOf(owner: Owner, name: '_events' | '_eventsCount'): unknown {
  const own = owns.get(owner);
  return own && Reflect.get(own.emitter, name);
}

/** The registrations that concern the owner: its own, and those of its kind's module. */
export function ownsFor(owner: Owner): Own[] {
  return [owner, kindCodeOf(owner)].flatMap((each) => (each && owns.get(each)) ?? []);
}

/** Whether the code that runs is the owner's; for the module of a kind, also that of its bots. */
export function isOwn(owner: Owner): boolean {
  const running = currentOwner();
  return running !== undefined && (running === owner || kindCodeOf(running) === owner);
}

/** Called when the owner ends. */
export function onRelease(owner: Owner, release: () => void): void {
  if (released.has(owner)) release();
  else ownOf(owner).releases.push(release);
}

/** The owner has ended: its listeners of `exit` run, and what it has registered goes. */
export function releaseOwn(owner: Owner, code: number): void {
  const own = owns.get(owner);
  // Keeps those of the kind's module, which serve its other bots.
  if (own) runContained(owner, () => emitOn(own, 'exit', [code]));
  released.add(owner);
  owns.delete(owner);
  for (const release of own?.releases ?? []) release();
}

/** Runs code of an owner that Node calls from anywhere. What it throws is the owner's. */
export function runContained<T>(owner: Owner, task: () => T): T | undefined {
  try {
    return runAsBot(owner, task);
  } catch (thrown) {
    uncaught(owner, thrown);
    return undefined;
  }
}

/** Emits an event of `process` for the owner. @returns whether somebody listens. */
export function emitTo(owner: Owner, event: string | symbol, args: unknown[]): boolean {
  let isHeard = false;
  for (const own of ownsFor(owner)) if (emitOn(own, event, args)) isHeard = true;
  return isHeard;
}

/** Emits an event of the process for all that have registered something. @returns whether somebody listens. */
export function emitToAll(event: string, args: unknown[]): boolean {
  let isHeard = false;
  for (const [owner, own] of owns) {
    if (runContained(owner, () => emitOn(own, event, args))) isHeard = true;
  }
  return isHeard;
}

/** Emits through its replacement of `process.emit`, which calls the one that it has replaced. */
function emitOn(own: Own, event: string | symbol, args: unknown[]): boolean {
  if (!own.emit || hearing === own) return Reflect.apply(emit, own.emitter, [event, ...args]);
  const before = hearing;
  hearing = own;
  try {
    return own.emit.call(process, event, ...args);
  } finally {
    hearing = before;
  }
}

/** Emits for the owner whose replacement of `process.emit` runs. Undefined when none does. */
export function emitToHearing(event: string | symbol, args: unknown[]): boolean | undefined {
  return hearing && emitOn(hearing, event, args);
}

/** The error that ends the code that has called `process.exit` or the like. @param call in words. */
export function endOf(owner: Owner, call: string): Error {
  const options = lastErrors.has(owner) ? { cause: asError(lastErrors.get(owner)) } : {};
  const end = new Error(`the bot has called ${call}`, options);
  ends.add(end);
  return end;
}

/** An error that no code of the owner has caught: its listeners get it, or it ends the owner. Never throws. */
export function uncaught(
  owner: Owner,
  thrown: unknown,
  origin: Origin = 'uncaughtException',
  promise?: unknown,
): void {
  if (ends.has(thrown as object)) return;
  try {
    if (isHandled(owner, thrown, origin, promise)) return;
  } catch (again) {
    // The listener is the bot's, and so is what it throws.
    if (!ends.has(again as object)) owner.fail(again);
    return;
  }
  owner.fail(thrown);
}

/** Handles an uncaught error in the order that Node uses. */
function isHandled(owner: Owner, thrown: unknown, origin: Origin, promise: unknown): boolean {
  const all = ownsFor(owner);
  if (all.length === 0) return false;
  lastErrors.set(owner, thrown);
  return runAsBot(owner, () => {
    const isRejection = origin === 'unhandledRejection';
    if (isRejection && emitTo(owner, origin, [thrown, promise])) return true;
    const error = isRejection ? asError(thrown) : thrown;
    emitTo(owner, 'uncaughtExceptionMonitor', [error, origin]);
    const capture = all.find((own) => own.capture !== null)?.capture;
    if (!capture) return emitTo(owner, 'uncaughtException', [error, origin]);
    capture(error);
    return true;
  });
}

function asError(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && isError(thrown)
    ? thrown
    : new Error(reasonOf(thrown));
}
