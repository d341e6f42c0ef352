// A call of a command as text for a POSIX shell: with the command line of Drover, or with curl.

import type { Json, JsonObject } from '../../../src/client/index.js';

export interface ShellCall {
  bots: readonly string[];
  command: string;
  args: JsonObject;
}

/** Words that need no quotes in a POSIX shell. */
const PLAIN = /^[\w@%+:,./=-]+$/;

/** One word of a shell command. */
export function quoted(text: string): string {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @param url the address of the service, which the command names in case another is the default. */
export function droverText({ bots, command, args }: ShellCall, url: string): string {
  const words = ['drover', 'invoke', '--url', url, bots.join(','), command, ...pairsOf(args)];
  // A word that begins with a dash would be a flag.
  const at = words.findIndex((word, place) => place > 3 && word.startsWith('-'));
  if (at >= 0) words.splice(4, 0, '--');
  return words.map(quoted).join(' ');
}

/** The token is that of the variable DROVER_TOKEN: it must not be in the history of a shell. */
export function curlText({ bots, command, args }: ShellCall, url: string): string {
  const target = bots.length === 1 ? bots[0] : bots;
  const body = JSON.stringify({ session_id: target, command, args });
  return [
    'curl -sS',
    quoted(`${url}/invoke`),
    '-H "Authorization: Bearer $DROVER_TOKEN"',
    "-H 'Content-Type: application/json'",
    '-d',
    quoted(body),
  ].join(' ');
}

/** As the command line reads them: `name=value`, or one JSON object where that would read something else. */
function pairsOf(args: JsonObject): string[] {
  const entries = Object.entries(args);
  if (
    entries.some(([name, value]) => name === '' || name.includes('=') || isReadOtherwise(value))
  ) {
    return [JSON.stringify(args)];
  }
  return entries.map(([name, value]) => {
    return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
}

/** A text such as `2026` is JSON too, which the command line would take for a number. */
function isReadOtherwise(value: Json): boolean {
  if (typeof value !== 'string') return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
