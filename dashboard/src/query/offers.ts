import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import { FIELDS, type Field, type FieldName } from '../../../src/shared/query/fields.js';
import { nodeNames } from '../model/cluster.js';
import { bots, scopes } from '../model/live.js';
import { natural } from './natural.js';

/** Names of data that are looked for in so many bots: those of a kind have the same. */
const BOTS_WITH_DATA = 200;

/** Values that there are now. Computed while someone types only: there can be thousands of bots. */
export function offersNow(field: FieldName, path: string): readonly string[] {
  const { values }: Field = FIELDS[field];
  if (field === 'level') return LEVELS;
  if (values) return values;
  switch (field) {
    case 'scope':
      return scopes.peek();
    case 'node':
      return nodeNames.peek();
    case 'bot':
      return [...bots.keys()];
    case 'kind':
    case 'status':
      return distinct([...bots.values()].map((bot) => bot[field]));
    case 'host':
      return distinct(
        [...bots.values()].flatMap(({ host }) => (host === null ? [] : String(host))),
      );
    case 'label':
      return distinct(
        [...bots.values()].flatMap(({ labels }) =>
          Object.entries(labels).map(([name, value]) => `${name}=${value}`),
        ),
      );
    case 'data': {
      const some = [...bots.values()].slice(0, BOTS_WITH_DATA).map(({ data }) => data);
      if (path === '') return distinct(some.flatMap((data) => Object.keys(data)));
      const found = some.map((data) => (data as Record<string, unknown>)[path]);
      return distinct(
        found.flatMap((value) =>
          typeof value === 'object' || value === undefined ? [] : String(value),
        ),
      );
    }
    default:
      return [];
  }
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)].sort(natural.compare);
}
