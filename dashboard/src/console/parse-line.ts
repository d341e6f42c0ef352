// Reads a command line as `drover invoke` does: a command, then arguments as name=value or as one JSON object.

import type { Json, JsonObject } from '../../../src/client/index.js';
import { faultsOf, fieldFor, type Schema } from '../parts/schema.js';
import { t } from '../texts/text.js';

/** A command of a kind, as the service describes it. */
export interface CommandInfo {
  description: string;
  args: Schema;
}
export type Commands = Readonly<Record<string, CommandInfo>>;

/** A word of a line, and where it is. */
export interface Word {
  /** Quotes taken away. */
  text: string;
  /** The same as it is typed. */
  raw: string;
  from: number;
  to: number;
}

export interface ParsedLine {
  command: string;
  args: JsonObject;
}

const OPENS: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** Words are separated by spaces, but not within quotes, and not within the braces of JSON. */
export function wordsOf(line: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < line.length) {
    if (line[at] === ' ') {
      at += 1;
      continue;
    }
    const from = at;
    let text = '';
    while (at < line.length && line[at] !== ' ') {
      const piece = pieceAt(line, at, at === from || line[at - 1] === '=');
      text += piece.text;
      at = piece.to;
    }
    words.push({ text, raw: line.slice(from, at), from, to: at });
  }
  return words;
}

/** @param isStart JSON begins only at the start of a word or of a value. */
function pieceAt(line: string, at: number, isStart: boolean): { text: string; to: number } {
  const first = line[at] ?? '';
  if (first === "'" || first === '"') {
    const end = endOfQuote(line, at);
    const raw = line.slice(at, end);
    return { text: first === '"' ? unquoted(raw) : raw.replace(/^'|'$/g, ''), to: end };
  }
  if (isStart && first in OPENS) {
    const end = endOfJson(line, at);
    return { text: line.slice(at, end), to: end };
  }
  return { text: first, to: at + 1 };
}

function endOfQuote(line: string, at: number): number {
  const quote = line[at];
  for (let to = at + 1; to < line.length; to++) {
    if (quote === '"' && line[to] === '\\') to += 1;
    else if (line[to] === quote) return to + 1;
  }
  return line.length;
}

function endOfJson(line: string, at: number): number {
  let depth = 0;
  for (let to = at; to < line.length; to++) {
    const char = line[to] ?? '';
    if (char === '"') to = endOfQuote(line, to) - 1;
    else if (char in OPENS) depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth === 0) return to + 1;
  }
  return line.length;
}

/** With the escapes of JSON; one that is still open ends at the end. */
function unquoted(raw: string): string {
  const whole = raw.length > 1 && raw.endsWith('"') ? raw : `${raw}"`;
  try {
    return JSON.parse(whole) as string;
  } catch {
    return raw.replace(/^"|"$/g, '');
  }
}

/** @returns what to run. @throws Error with what is wrong, in one line. */
export function parseLine(line: string, commands: Commands): ParsedLine {
  const [first, ...words] = wordsOf(line);
  if (!first) throw new Error(t('console.typeOne'));
  const command = first.text;
  const info = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (!info) {
    throw new Error(t('console.unknown', { command, names: names(Object.keys(commands)) }));
  }
  const args = argsOf(words, line, info.args, command);
  for (const [path, fault] of faultsOf(info.args, args, 'args')) {
    throw new Error(`${path.replace(/^args\./, '')} ${fault}.`);
  }
  return { command, args };
}

function argsOf(words: readonly Word[], line: string, schema: Schema, command: string): JsonObject {
  const [only, ...more] = words;
  if (only?.raw.startsWith('{')) {
    if (more.length > 0) throw new Error(t('console.afterJson'));
    return jsonObject(only.text);
  }
  const text = onlyText(schema);
  if (only && text !== undefined && words.every((word) => pairOf(word, schema) === undefined)) {
    // A sentence need not be quoted.
    const isQuoted = more.length === 0 && /^["']/.test(only.raw);
    return { [text]: isQuoted ? only.text : line.slice(only.from).trimEnd() };
  }
  const args: JsonObject = {};
  for (const word of words) {
    const pair = pairOf(word, schema);
    if (!pair) throw new Error(unknownArgument(word, schema, command));
    const [name, value] = pair;
    args[name] = argumentOf(value, schema.properties?.[name]);
  }
  return args;
}

/** The argument of a command that has one, a text. */
function onlyText(schema: Schema): string | undefined {
  const [name, ...others] = Object.keys(schema.properties ?? {});
  const field = schema.properties?.[name ?? ''];
  return others.length === 0 && field && fieldFor(field).type === 'text' ? name : undefined;
}

function pairOf({ raw, text }: Word, schema: Schema): [name: string, value: string] | undefined {
  const at = raw.indexOf('=');
  if (at < 1) return undefined;
  const name = raw.slice(0, at);
  const known = schema.properties ?? {};
  // Without properties, the service knows what is allowed.
  if (!Object.hasOwn(known, name) && Object.keys(known).length > 0) return undefined;
  return [name, text.slice(at + 1)];
}

function unknownArgument({ raw }: Word, schema: Schema, command: string): string {
  const known = Object.keys(schema.properties ?? {});
  if (known.length === 0) return t('console.noArgument', { command, argument: raw });
  return t('console.noArgumentBut', {
    command,
    argument: raw.split('=')[0] ?? '',
    names: names(known.map((name) => `${name}=…`)),
  });
}

function argumentOf(text: string, schema: Schema | undefined): Json {
  if (schema) {
    const field = fieldFor(schema);
    if (field.type === 'text') return text;
    if (field.type === 'choice') {
      const chosen = field.options.find((option) => option === text);
      if (chosen !== undefined) return chosen;
    }
  }
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function jsonObject(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    throw new Error(t('console.notJson'));
  }
}

function names(all: readonly string[]): string {
  return all.length === 0 ? 'none' : all.join(', ');
}
