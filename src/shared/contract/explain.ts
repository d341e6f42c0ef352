import type { ErrorObject, ValidateFunction } from 'ajv';
import { BOT_ID, BOT_ID_WORDS } from './bot-id.js';
import { ONLY_VISIBLE, ONLY_VISIBLE_WORDS } from './escapes.js';

type Errors = readonly ErrorObject[];

/** Most faults that one message names; the others are counted. */
const MAX_TOLD = 5;
/** Errors that are read: a list of thousands can have one for each of its items, and to explain them takes seconds. */
const MAX_READ = 1000;

/**
 * What is wrong with a value, in one line: dotted paths that begin with `what`, and what the values must be. One fault for each
 * place, at most {@link MAX_TOLD} of them.
 * @param errors as Ajv reports them, with `allErrors` or without: one for each alternative, then one for all of them.
 */
export function explainSchemaError(what: string, errors: Errors | null | undefined): string {
  const { faults, isWhole } = schemaFaults(what, errors);
  const told = faults.slice(0, MAX_TOLD).map(({ text }) => text);
  const more = faults.length - told.length;
  if (told.length === 0) return `${what} is not valid`;
  if (more === 0) return told.join('; ');
  return `${told.join('; ')}; and ${isWhole ? more : 'many'} more`;
}

/** What is wrong at one place of a value. */
export interface SchemaFault {
  /** In words, with the path. */
  text: string;
  /** Where it is. */
  path: readonly string[];
  /** The key there that is unknown. */
  key?: string;
}

/** One fault for each place, in the order of the errors. @returns `isWhole` is false if not all errors were read. */
export function schemaFaults(
  what: string,
  errors: Errors | null | undefined,
): { faults: SchemaFault[]; isWhole: boolean } {
  const found = new Map<string, SchemaFault>();
  const read = (errors ?? []).slice(0, MAX_READ);
  for (const group of groupsOf(read)) {
    const text = explainGroup(what, group);
    const last = group.at(-1) as ErrorObject;
    const place = isChoice(last) ? text : placeOf(what, last);
    if (found.has(place)) continue;
    const key = last.params['additionalProperty'] as string | undefined;
    found.set(place, { text, path: stepsOf(last), ...(key !== undefined && { key }) });
  }
  return { faults: [...found.values()], isWhole: read.length < MAX_READ };
}

function stepsOf({ instancePath }: ErrorObject): string[] {
  return instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The fault of one of the values that a schema has by name, in one line; null for none. */
export function explainNamed(
  validate: ValidateFunction,
  name: string,
  value: unknown,
): string | null {
  if (validate({ [name]: value })) return null;
  return explainSchemaError('', validate.errors).replace(/^\./, '');
}

/** Each fault with the errors of its alternatives, which come before it. */
function groupsOf(errors: Errors): Errors[] {
  const groups: ErrorObject[][] = [];
  for (const error of errors) {
    const group = [error];
    if (isChoice(error)) {
      while (isAlternative(groups.at(-1)?.at(-1), error)) group.unshift(...(groups.pop() ?? []));
    }
    groups.push(group);
  }
  // These errors only repeat that an earlier one is wrong.
  const telling = groups.filter(([{ keyword } = NONE]) => !(keyword in REPEATS));
  return telling.length === 0 ? groups : telling;
}

const NONE = { keyword: '' };
const REPEATS: Readonly<Record<string, true>> = { propertyNames: true, if: true };

/** Whether the error is one of an alternative of this choice, also behind a `$ref`, where the schema's path begins again. */
function isAlternative(error: ErrorObject | undefined, choice: ErrorObject): boolean {
  if (!error || !`${error.instancePath}/`.startsWith(`${choice.instancePath}/`)) return false;
  return error.schemaPath.startsWith(`${choice.schemaPath}/`) || REFERRED.test(error.schemaPath);
}

const REFERRED = /^(?!#\/)|^#\/(?:\$defs|definitions)\//;

/** One fault. @param errors that of a value, or those of all alternatives and one for the choice. */
function explainGroup(what: string, errors: Errors): string {
  const last = errors.at(-1) as ErrorObject;
  if (!isChoice(last)) return explainOne(what, last);
  const tried = errors.filter((error) => !isChoice(error));
  if (tried.length === 0) return explainOne(what, last);
  const path = pathOf(what, last);
  const isHere = ({ instancePath }: ErrorObject): boolean => instancePath === last.instancePath;
  if (tried.every((error) => error.keyword === 'required' && isHere(error))) {
    return `${tried.map((error) => keyOf(path, error)).join(' or ')} is missing`;
  }
  // The alternative of the right type, or with an error deeper inside, is the one that was meant.
  const meant = tried.find((error) => !(error.keyword in ALLOWS) || !isHere(error));
  if (meant) return explainOne(what, meant);
  // Where the exact value is named, its type is not.
  const exact = new Set(tried.filter(({ keyword }) => keyword !== 'type').map(schemaOf));
  const telling = tried.filter((error) => error.keyword !== 'type' || !exact.has(schemaOf(error)));
  const words = telling.flatMap((error) => ALLOWS[error.keyword]?.(error) ?? []);
  const isMixed = telling.some(({ keyword }) => keyword === 'type');
  return `${path} must be ${isMixed ? words.join(' or ') : `one of ${words.join(', ')}`}`;
}

/** The allowed values or types that an error names. */
const ALLOWS: Readonly<Record<string, (error: ErrorObject) => readonly string[]>> = {
  const: ({ params }) => [String(params['allowedValue'])],
  enum: ({ params }) => (params['allowedValues'] as unknown[]).map(String),
  type: ({ params }) => [params['type']].flat().map(String),
};

function isChoice({ keyword }: ErrorObject): boolean {
  return keyword === 'anyOf' || keyword === 'oneOf';
}

/** The alternative of an error. */
function schemaOf({ schemaPath }: ErrorObject): string {
  return schemaPath.slice(0, schemaPath.lastIndexOf('/'));
}

function explainOne(what: string, error: ErrorObject): string {
  const path = pathOf(what, error);
  switch (error.keyword) {
    case 'additionalProperties':
      return `unknown key ${keyOf(path, error)}`;
    case 'required':
      return `${keyOf(path, error)} is missing`;
    default: {
      const { propertyName } = error;
      const culprit =
        propertyName === undefined
          ? path
          : `${path} has the key ${JSON.stringify(propertyName)}, which`;
      return `${culprit} ${WORDS[error.keyword]?.(error) ?? error.message ?? 'is not valid'}`;
    }
  }
}

const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [BOT_ID.source]: `must be ${BOT_ID_WORDS}`,
  [ONLY_VISIBLE]: ONLY_VISIBLE_WORDS,
};

/** Messages in place of Ajv's. */
const WORDS: Readonly<Record<string, (error: ErrorObject) => string>> = {
  const: ({ params }) => `must be ${params['allowedValue']}`,
  enum: ({ params }) => `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`,
  type: ({ params }) => `must be ${[params['type']].flat().join(' or ')}`,
  minLength: ({ params }) => atLeast(params['limit'], 'character'),
  maxLength: ({ params }) => `must have ${count(params['limit'], 'character')} at most`,
  minItems: ({ params }) => atLeast(params['limit'], 'item'),
  maxItems: ({ params }) => `must have ${count(params['limit'], 'item')} at most`,
  minProperties: ({ params }) => atLeast(params['limit'], 'key'),
  maxProperties: ({ params }) => `must have ${count(params['limit'], 'key')} at most`,
  pattern: ({ params, message }) => PATTERN_WORDS[params['pattern']] ?? message ?? 'is not valid',
  uniqueItems: () => 'must not have an item twice',
};

function atLeast(limit: number, what: string): string {
  return limit === 1 ? 'must not be empty' : `must have ${count(limit, what)} at least`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function pathOf(what: string, { instancePath }: ErrorObject): string {
  // A path in a readable form: `config.routes[0].to`.
  const [first = '', ...rest] = [what, ...instancePath.split('/').slice(1)].filter(Boolean);
  return rest.reduce((path, name) => path + (/^\d+$/.test(name) ? `[${name}]` : `.${name}`), first);
}

/** The place of an error: of several errors at one place, only the first is reported. */
function placeOf(what: string, error: ErrorObject): string {
  const path = pathOf(what, error);
  const { keyword, propertyName } = error;
  if (keyword === 'required' || keyword === 'additionalProperties') return keyOf(path, error);
  return propertyName === undefined ? path : `${path} ${propertyName}`;
}

/** The path of the key in an error. */
function keyOf(path: string, { params }: ErrorObject): string {
  const name = String(params['missingProperty'] ?? params['additionalProperty']);
  return path === '' ? name : `${path}.${name}`;
}
