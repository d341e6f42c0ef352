// Test harness. Builds a release of Drover that differs from this one: its sources with changes, compiled and bundled like ours.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What a build reads. */
const SOURCES = ['src', 'workers', 'bench', 'config'];
const SETTINGS = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'rolldown.config.mjs'];
/** What is the same in each release. */
const SHARED = ['node_modules', 'sdk', 'docs'];

export interface Release {
  version: string;
  /** Replaced in the file of this path, everywhere; it is a mistake when it is not there. */
  changes: readonly { file: string; from: string | RegExp; to: string }[];
}

/** @param dir does not exist. @returns the path of its command, as `ServiceOptions.cli` has it. */
export function buildRelease(dir: string, { version, changes }: Release): string {
  mkdirSync(dir);
  for (const name of SOURCES)
    cpSync(path.join(ROOT, name), path.join(dir, name), { recursive: true });
  for (const name of SETTINGS) cpSync(path.join(ROOT, name), path.join(dir, name));
  for (const name of SHARED) symlinkSync(path.join(ROOT, name), path.join(dir, name));
  const all = [
    ...changes,
    { file: 'package.json', from: /"version": "[^"]*"/, to: `"version": "${version}"` },
  ];
  for (const { file, from, to } of all) {
    const name = path.join(dir, file);
    const text = readFileSync(name, 'utf8');
    const changed = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to);
    if (changed === text) throw new Error(`${file} has no ${from}`);
    writeFileSync(name, changed);
  }
  const run = (tool: string, ...args: string[]): void => {
    const program = path.join(ROOT, 'node_modules/.bin', tool);
    execFileSync(program, args, { cwd: dir, stdio: ['ignore', 'inherit', 'inherit'] });
  };
  // Its types were checked with ours.
  run('tsc', '-p', 'tsconfig.build.json', '--noCheck');
  execFileSync(process.execPath, ['dist/config/validators-module.js'], { cwd: dir });
  run('rolldown', '-c', '--logLevel', 'silent');
  symlinkSync(path.join(ROOT, 'dist/dashboard'), path.join(dir, 'dist/dashboard'));
  return path.join(dir, 'dist/src/cli/main.js');
}
