import { KINDS, LEVELS } from '../contract/event-kinds.js';
import { MAX_PATH, MAX_PATH_PARTS } from './query-bounds.js';

/** What a query is for: bots, or lines and the other events of the log. */
export type QueryUse = 'bots' | 'lines';

/** How the values of a field are written and compared. `label` is `name` or `name=value`. */
export type FieldType = 'name' | 'text' | 'number' | 'age' | 'label' | 'data';

export interface Field {
  type: FieldType;
  /** The object that has the field. A term about a bot in a query for lines is about the bot of the line. */
  of: 'bot' | 'line' | 'both';
  /** All valid values, where others are mistakes. */
  values?: readonly string[];
  /** Other spellings of its name. */
  aliases?: readonly string[];
  /** For errors. */
  example: string;
}

export const FIELDS = {
  bot: {
    type: 'name',
    of: 'both',
    aliases: ['id', 'session'],
    example: 'bot:demo-*',
  },
  kind: { type: 'name', of: 'bot', example: 'kind:demo' },
  status: { type: 'name', of: 'bot', example: 'status:failed' },
  desired: {
    type: 'name',
    of: 'bot',
    values: ['running', 'stopped'],
    example: 'desired:running',
  },
  label: { type: 'label', of: 'bot', example: 'label:team=a' },
  node: { type: 'name', of: 'both', example: 'node:h1' },
  host: { type: 'number', of: 'bot', example: 'host:0' },
  version: { type: 'name', of: 'bot', example: 'version:4f1c02ab' },
  restarts: {
    type: 'number',
    of: 'bot',
    example: 'restarts>3',
  },
  last_error: {
    type: 'text',
    of: 'bot',
    aliases: ['error'],
    example: 'last_error:timeout',
  },
  fleet: { type: 'name', of: 'bot', example: 'fleet:web' },
  drift: { type: 'name', of: 'bot', values: ['true', 'false'], example: 'drift:true' },
  since: {
    type: 'age',
    of: 'bot',
    example: 'since>10m',
  },
  data: { type: 'data', of: 'bot', example: 'data.gold<100' },
  event: {
    type: 'name',
    of: 'line',
    values: KINDS.filter((kind) => kind !== 'gap'),
    example: 'event:log',
  },
  level: {
    type: 'name',
    of: 'line',
    values: LEVELS,
    example: 'level:warn,error',
  },
  scope: { type: 'name', of: 'line', example: 'scope:tcp' },
  transport: {
    type: 'name',
    of: 'line',
    values: ['tcp', 'http'],
    example: 'transport:tcp',
  },
  direction: {
    type: 'name',
    of: 'line',
    values: ['incoming', 'outgoing'],
    example: 'direction:incoming',
  },
  actor: { type: 'name', of: 'line', example: 'actor:Ada' },
  activity: { type: 'name', of: 'line', example: 'activity:bot.restart' },
} as const satisfies Record<string, Field>;

export type FieldName = keyof typeof FIELDS;

export const FIELD_NAMES = Object.keys(FIELDS) as readonly FieldName[];

/** @returns the field of this name or alias. */
export function fieldNamed(name: string): FieldName | undefined {
  return FIELD_NAMES.find(
    (known) => known === name || ((FIELDS[known] as Field).aliases ?? []).includes(name),
  );
}

/** Age compares with the time, which no line changes: a stream could not say when a bot begins to match. */
export function isUsable(name: FieldName, use: QueryUse): boolean {
  const { of, type } = FIELDS[name];
  return use === 'bots' ? of !== 'line' : type !== 'age';
}

/** Whether it can be looked up in the data of a bot: as each of its parts may have dots, that takes all combinations. */
export function isPath(path: string): boolean {
  return path.length <= MAX_PATH && path.split('.').length <= MAX_PATH_PARTS;
}

/** The known name that is most like this one; undefined when none is. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const known of names) {
    // A long name resembles none, and comparing it takes time in proportion to both lengths.
    if (Math.abs(name.length - known.length) >= least) continue;
    const distance = editDistance(name, known);
    if (distance < least) {
      best = known;
      least = distance;
    }
  }
  return best;
}

/** Letters to insert, remove, replace or swap with a neighbour. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(
        (row[j] as number) + 1,
        (next[j - 1] as number) + 1,
        (row[j - 1] as number) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] as number) + 1);
      }
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length] as number;
}
