// `drover prune`: removes the binaries that cannot run here from uWebSockets.js, where it is installed.

import { readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { require } from '../../shared/package-paths.js';
import { action } from '../terminal/action.js';
import { printLine } from '../terminal/output.js';

/** NODE_MODULE_VERSION of Node 20, the oldest that Drover runs on. */
const OLDEST_ABI = 115;
const BINARY = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/;

export function addPrune(program: Command): void {
  program
    .command('prune')
    .description('remove binaries of uWebSockets.js for other systems and old versions of Node')
    .option('--this-node', 'keep only the binary for this version of Node')
    .action(
      action(async ({ thisNode }: { thisNode?: true }) => {
        const folder = installed();
        if (folder === undefined) {
          await printLine('uWebSockets.js is not installed: there is nothing to remove');
          return undefined;
        }
        const { removed, bytes } = prune(folder, thisNode === true);
        const megabytes = Math.round(bytes / 1e6);
        await printLine(`removed ${removed} binaries of uWebSockets.js (${megabytes} MB)`);
        return undefined;
      }),
    );
}

function installed(): string | undefined {
  try {
    return path.dirname(require.resolve('uWebSockets.js/package.json'));
  } catch {
    return undefined;
  }
}

/** Removes the binaries that cannot load here. */
function prune(folder: string, thisNode: boolean): { removed: number; bytes: number } {
  const done = { removed: 0, bytes: 0 };
  for (const name of readdirSync(folder)) {
    const [, platform, arch, abi] = BINARY.exec(name) ?? [];
    if (abi === undefined) continue;
    const isHere = platform === process.platform && arch === process.arch;
    const isNode = thisNode ? abi === process.versions.modules : Number(abi) >= OLDEST_ABI;
    if (isHere && isNode) continue;
    const file = path.join(folder, name);
    done.bytes += statSync(file).size;
    rmSync(file);
    done.removed += 1;
  }
  return done;
}
