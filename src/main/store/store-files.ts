// Runs in main. The files of the store by name: checks, copies and replaces them. Every step leaves a complete file of each name
// if the machine stops in it. What is written is a new file: nobody has prepared it or a link of its name.

import { constants, renameSync, rmSync } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { faultOf, MISSING, setAside, sizeOf } from '../../shared/lmdb/file-fault.js';
import { lockFileOf } from '../../shared/lmdb/lock-file.js';
import { PROGRAMS } from '../../shared/package-paths.js';
import type { StoreFile } from './store-file.js';

/** Free room that a change needs: it rewrites more pages than its own. */
const SPARE_BYTES = 64 * 1024;
const MAX_PROBE_BYTES = 16 * 1024 * 1024;

export const copyOf = (path: string): string => `${path}.copy`;
/** The name of a file while it is written; a complete file is renamed. */
const freshOf = (path: string): string => `${path}.new`;
const probeOf = (path: string): string => `${path}.probe`;

/** Replaces a broken or missing file by its copy. @returns messages for the operator. */
export async function prepareStore(path: string, stopping?: AbortSignal): Promise<string[]> {
  const copy = copyOf(path);
  // A run that was killed may have left unfinished files.
  for (const left of [freshOf(path), freshOf(copy), probeOf(path)]) rmSync(left, { force: true });
  const fault = await faultOf(path, PROGRAMS.verifyStore, { stopping });
  const isNew = fault === MISSING && sizeOf(copy) === undefined;
  if (fault === undefined || isNew) return [];
  const copyFault = await faultOf(copy, PROGRAMS.verifyStore, { stopping });

  let what = `the store ${path} was missing`;
  if (fault !== MISSING) what = `the store ${path} was broken (${fault}) and ${setAside(path)}`;
  // The lock file belongs to the old file.
  rmSync(lockFileOf(path), { force: true });
  if (copyFault === undefined) {
    await copyToFresh(path);
    renameSync(freshOf(path), path);
    await syncDirectory(path);
    return [`${what}; its last copy has taken its place`];
  }
  // Renamed too, because the new store's copy would overwrite it, and data may be recovered from it.
  const lost =
    copyFault === MISSING ? '' : ` (it was broken too: ${copyFault}; it ${setAside(copy)})`;
  return [`${what}; there is no good copy of it${lost}, a new one begins empty`];
}

/** Replaces the copy: after a power failure there is the old one or the new one. @throws Error of the disk. */
export async function renewCopy(path: string, file: StoreFile): Promise<void> {
  const copy = copyOf(path);
  await complete(freshOf(copy), (fresh) => file.copyTo(fresh));
  await rename(freshOf(copy), copy);
  await syncDirectory(copy);
}

/** Writes the file that {@link putRewritten} puts in place, without free pages, and the copy. @throws Error of the disk. */
export async function rewrite(path: string, file: StoreFile): Promise<void> {
  await renewCopy(path, file);
  await copyToFresh(path);
}

async function copyToFresh(path: string): Promise<void> {
  const { COPYFILE_EXCL } = constants;
  await complete(freshOf(path), (fresh) => copyFile(copyOf(path), fresh, COPYFILE_EXCL));
}

/** Puts the rewritten file in the place of the store, which must be closed. It is on the disk after {@link syncDirectory}. */
export function putRewritten(path: string): void {
  // The lock file belongs to the old store.
  rmSync(lockFileOf(path), { force: true });
  renameSync(freshOf(path), path);
}

/** Why the disk of the store does not accept that many bytes, undefined when it does. */
export async function probeDisk(path: string, bytes: number): Promise<string | undefined> {
  const probe = probeOf(path);
  try {
    const content = Buffer.alloc(Math.min(bytes + SPARE_BYTES, MAX_PROBE_BYTES));
    await rm(probe, { force: true });
    await writeWhole(probe, content);
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}

/** A file that is on the disk when this resolves, and does not exist when it rejects: a part of it must not fill the disk. */
async function complete(path: string, write: (path: string) => Promise<void>): Promise<void> {
  try {
    await rm(path, { force: true });
    await write(path);
    await sync(path, 'r+');
  } catch (thrown) {
    await rm(path, { force: true }).catch(() => {});
    throw thrown;
  }
}

async function writeWhole(path: string, content: Buffer): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function sync(path: string, flags: string): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename in the file's directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  // Not possible and not needed on Windows.
  if (process.platform !== 'win32') await sync(dirname(path), 'r');
}
