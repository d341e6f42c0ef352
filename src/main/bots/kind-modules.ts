import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../shared/errors.js';
import { shippedKind } from '../../shared/package-paths.js';

/** The kinds that ship. */
export const SHIPPED: readonly string[] = ['demo', 'synthetic', 'irc'];

/** Modules of bot kinds, and the places where none was found, with the reason in one line. Only bot hosts load them. */
export interface KindModules {
  modules: string[];
  failed: { module: string; error: string }[];
}

/** @param places files, directories in which every .js and .mjs file is a kind, and names of packages. */
export function findKinds(places: readonly string[]): KindModules {
  const found: KindModules = {
    modules: SHIPPED.map((kind) => shippedKind(kind).href),
    failed: [],
  };
  for (const place of places) {
    try {
      found.modules.push(...modulesOf(place));
    } catch (thrown) {
      found.failed.push({ module: place, error: messageOf(thrown) });
    }
  }
  return found;
}

function modulesOf(place: string): string[] {
  const path = resolve(place);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile()) return [pathToFileURL(path).href];
  if (stats?.isDirectory()) {
    return readdirSync(path)
      .filter((name) => /\.m?js$/.test(name))
      .sort()
      .map((name) => pathToFileURL(join(path, name)).href);
  }
  // Resolved as from a file in the working directory.
  const from = createRequire(join(process.cwd(), 'kinds.js'));
  try {
    return [pathToFileURL(from.resolve(place)).href];
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw thrown;
    throw new Error(`there is no file, directory or package ${place} (seen from ${process.cwd()})`);
  }
}
