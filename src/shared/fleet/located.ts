// Reads YAML 1.2 or JSON as a value that knows where each of its parts is in the text. Loads yaml with the first file.

import type { Json, JsonObject } from '../contract/json.js';
import type { CST, Node, Pair, Parser, YAMLMap } from './yaml.js';

type Yaml = typeof import('./yaml.js');

/** Values of one file, with those that aliases repeat: ten thousand bots have some hundred thousand. Above it the file is refused. */
const MAX_VALUES = 1_000_000;
/** As for bodies of requests: http.max_json_depth. */
const MAX_DEPTH = 64;
/** Collections that may be open while yaml reads: it keeps up to three for a level, and ends the process when its stack is full. */
const MAX_OPEN = 3 * MAX_DEPTH + 10;
/** Faults that are reported of one file; later ones often follow from the first. */
const MAX_FAULTS = 20;
/** What earlier versions of YAML take for a truth value. */
const OLD_BOOLEANS = /^(?:y|yes|n|no|on|off)$/i;

/** What is wrong with a file: one line for each fault, as `file:line:column: what`. */
export class FleetFault extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'FleetFault';
    this.faults = faults;
  }
}

export type Path = readonly (string | number)[];

/** Collects what is wrong with a file. */
export class Faults {
  readonly #found: { offset: number; text: string }[] = [];
  readonly #placeOf: (offset: number) => string;

  constructor(placeOf: (offset: number) => string) {
    this.#placeOf = placeOf;
  }

  add(offset: number, what: string): void {
    // A template has its fault for each bot that is based on it.
    if (this.#found.some((one) => one.offset === offset && one.text === what)) return;
    if (!this.isFull) this.#found.push({ offset, text: what });
  }

  get isFull(): boolean {
    return this.#found.length >= MAX_FAULTS;
  }

  /** @throws FleetFault if there are any, in the order of the file. */
  check(): void {
    if (this.#found.length === 0) return;
    const sorted = this.#found.toSorted((a, b) => a.offset - b.offset);
    throw new FleetFault(sorted.map(({ offset, text }) => `${this.#placeOf(offset)}: ${text}`));
  }
}

export interface Located {
  value: Json;
  faults: Faults;
  /** `file:line:column`. */
  placeOf(offset: number): string;
  /** Where a part of the value begins, or the part around it that exists. @param key of an object there: where the key is. */
  offsetOf(path: Path, key?: string): number;
  /** Where an object of the value begins. */
  objectOffset(object: JsonObject): number;
  /** How a value is to be written to be of this type; undefined where that does not help. */
  hintAt(path: Path, type: 'string' | 'boolean'): string | undefined;
}

/** @param file its name, for messages. @throws FleetFault */
export async function locate(text: string, file: string): Promise<Located> {
  const yaml = await import('./yaml.js');
  // Windows editors write a byte order mark.
  const source = text.replace(/^\ufeff/, '');
  const lines = new yaml.LineCounter();
  const placeOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`;
  };
  const faults = new Faults(placeOf);
  lines.addNewLine(0);
  const parser = new yaml.Parser(lines.addNewLine);
  const tokens = [...tokensOf(yaml, parser, source, faults)];
  faults.check();
  // The reader below finds keys that are there twice without comparing each with each.
  const composer = new yaml.Composer({ prettyErrors: false, version: '1.2', uniqueKeys: false });
  const [document, second] = composer.compose(tokens, true, source.length);
  if (!document) throw new Error('there is a document for every text');
  for (const { message, pos } of [...document.errors, ...document.warnings]) {
    faults.add(pos[0], message.charAt(0).toLowerCase() + message.slice(1));
  }
  if (second) faults.add(second.range[0], 'a second document (---): write one');
  faults.check();
  const { explicit, version } = document.directives?.yaml ?? {};
  if (explicit && version !== '1.2') faults.add(0, `YAML ${version}: only YAML 1.2 is read`);
  const reader = new ValueReader(yaml, faults);
  const value = document.contents === null ? null : reader.read(document.contents, 0);
  faults.check();
  const nodeAt = (path: Path): { node: Node | null; pair?: Pair | undefined; isWhole: boolean } =>
    find(yaml, reader, document.contents as Node | null, path);
  return {
    value,
    faults,
    placeOf,
    offsetOf(path, key) {
      if (key !== undefined) {
        const pair = nodeAt([...path, key]);
        if (pair.isWhole && pair.pair) return startOf(pair.pair.key as Node);
      }
      return startOf(nodeAt(path).node);
    },
    objectOffset: (object) => reader.objects.get(object) ?? 0,
    hintAt(path, type) {
      const { node, isWhole } = nodeAt(path);
      if (!isWhole || !yaml.isScalar(node) || node.source === undefined) return undefined;
      if (type === 'string') return `for a text write it in quotes: "${node.source}"`;
      if (node.type === 'PLAIN' && OLD_BOOLEANS.test(node.source)) {
        return `in YAML 1.2 ${node.source} is a text: write true or false`;
      }
      return undefined;
    },
  };
}

/** A text that is nested too deep ends early, with a fault. */
function* tokensOf(
  { Lexer }: Yaml,
  parser: Parser,
  source: string,
  faults: Faults,
): Generator<CST.Token> {
  for (const lexeme of new Lexer().lex(source)) {
    yield* parser.next(lexeme);
    if (parser.stack.length <= MAX_OPEN) continue;
    faults.add(parser.offset, `nested more than ${MAX_DEPTH} levels deep`);
    return;
  }
  yield* parser.end();
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/** The node at a path; where there is none, the last one on the way. */
function find(
  { isMap, isSeq, isScalar }: Yaml,
  reader: ValueReader,
  root: Node | null,
  path: Path,
): { node: Node | null; pair?: Pair | undefined; isWhole: boolean } {
  let node = root && reader.target(root);
  let pair: Pair | undefined;
  for (const step of path) {
    let below: Node | undefined;
    pair = undefined;
    if (isMap(node)) {
      pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
      below = (pair?.value ?? undefined) as Node | undefined;
    } else if (isSeq(node)) below = node.items[Number(step)] as Node | undefined;
    if (!below) return { node, pair, isWhole: pair !== undefined };
    node = reader.target(below);
  }
  return { node, pair, isWhole: true };
}

/** Turns nodes into JSON, without what JSON cannot say. */
class ValueReader {
  /** Where each object begins. */
  readonly objects = new WeakMap<JsonObject, number>();
  readonly #yaml: Yaml;
  readonly #faults: Faults;
  readonly #anchors = new Map<string, Node>();
  readonly #targets = new Map<Node, Node>();
  /** Nodes that are being read: an alias to one of them would repeat for ever. */
  readonly #open = new Set<Node>();
  #left = MAX_VALUES;

  constructor(yaml: Yaml, faults: Faults) {
    this.#yaml = yaml;
    this.#faults = faults;
  }

  /** The node that an alias stands for; any other node itself. */
  target(node: Node): Node {
    return this.#targets.get(node) ?? node;
  }

  read(node: Node, depth: number): Json {
    const { isAlias, isMap, isSeq, isScalar } = this.#yaml;
    if (this.#faults.isFull || this.#left === 0) return null;
    this.#left -= 1;
    if (this.#left === 0) {
      return this.#refuse(node, `more than ${MAX_VALUES} values, with those that aliases repeat`);
    }
    if (depth > MAX_DEPTH) {
      return this.#refuse(node, `nested more than ${MAX_DEPTH} levels deep`);
    }
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (!target)
        return this.#refuse(node, `there is no anchor &${node.source} before this alias`);
      if (this.#open.has(target))
        return this.#refuse(node, `the alias *${node.source} is in its anchor`);
      this.#targets.set(node, target);
      return this.read(target, depth);
    }
    if ('anchor' in node && node.anchor) this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node, node.value);
    this.#open.add(node);
    const value = isMap(node)
      ? this.#object(node, depth)
      : isSeq(node)
        ? node.items.map((item) => this.read(item as Node, depth + 1))
        : null;
    this.#open.delete(node);
    return value;
  }

  #scalar(node: Node, value: unknown): Json {
    if (typeof value === 'string') {
      return value.isWellFormed() ? value : this.#refuse(node, 'half of a character');
    }
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      return this.#refuse(node, 'only numbers, texts, true, false and null are read');
    }
    if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21) {
      return this.#refuse(node, 'a number that is not exact: for a text write it in quotes');
    }
    return value;
  }

  #object(node: YAMLMap, depth: number): JsonObject {
    const { isScalar } = this.#yaml;
    const entries = new Map<string, Json>();
    for (const { key, value } of node.items) {
      const at = (key ?? node) as Node;
      if (!isScalar(key) || typeof key.value !== 'string') {
        this.#refuse(at, 'a key must be a text: write it in quotes');
      } else if (key.value === '<<' && key.type === 'PLAIN') {
        this.#refuse(at, 'merge keys (<<) are not read: use templates and extends');
      } else if (key.value === '__proto__' || !key.value.isWellFormed()) {
        this.#refuse(at, `the key ${JSON.stringify(key.value)} is not allowed`);
      } else if (entries.has(key.value)) {
        this.#refuse(at, `the key ${JSON.stringify(key.value)} is here twice`);
      } else {
        entries.set(key.value, value === null ? null : this.read(value as Node, depth + 1));
      }
    }
    const object = Object.fromEntries(entries);
    this.objects.set(object, startOf(node));
    return object;
  }

  #refuse(node: Node, what: string): null {
    this.#faults.add(startOf(node), what);
    return null;
  }
}
