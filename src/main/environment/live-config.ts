// Which keys of the configuration a running service follows.

import { isDeepStrictEqual } from 'node:util';
import { type Config, LIVE_KEYS } from '../../shared/contract/config.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { configKeys } from './load-config.js';

/** Whether a running service follows changes of this key. */
export function isLive(path: string): boolean {
  return LIVE_KEYS.some((key) => path === key || path.startsWith(`${key}.`));
}

/** Paths of the keys whose values differ. */
export function changedKeys(before: Config, after: Config): string[] {
  return configKeys()
    .map(({ path }) => path)
    .filter((path) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)));
}

/** Sets these keys in place: who has the object, or a part of it, sees the new values. */
export function adopt(config: Config, after: Config, paths: readonly string[]): void {
  for (const path of paths) {
    const names = path.split('.');
    const last = names.pop() as string;
    const holder = valueAt(config, names.join('.')) as JsonObject;
    holder[last] = valueAt(after, path) as Json;
  }
}

function valueAt(config: Config, path: string): Json | undefined {
  let value: Json | undefined = config as unknown as JsonObject;
  for (const name of path === '' ? [] : path.split('.')) value = (value as JsonObject)[name];
  return value;
}
