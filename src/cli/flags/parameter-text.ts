import type { GivenQuery, RouteName } from '../../shared/contract/routes/table.js';
import { ROUTES } from '../../shared/routes.js';

/** The help text of a flag that is a parameter of a route: what the table of routes says about it, with its example. */
export function parameterText<R extends RouteName>(
  route: R,
  name: keyof GivenQuery<R> & string,
): string {
  const parameter = ROUTES[route].query[name];
  if (!parameter) throw new Error(`${route} has no parameter ${name}`);
  const { description, type, maxLength, examples } = parameter;
  const plain = description.replaceAll('`', '').replace(/\.$/, '');
  const text = `${plain.charAt(0).toLowerCase()}${plain.slice(1)}`;
  if (type === 'array') return `${text} (comma-separated or repeated)`;
  // A query, which nobody guesses the form of.
  return maxLength !== undefined && examples ? `${text}, such as '${examples.join()}'` : text;
}
