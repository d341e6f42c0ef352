/** A process has sent what a bot host does not send: a bot writes to its pipe, or its memory is damaged. It ends that host. */
export class HostFault extends Error {}

/** Longest piece of what was sent that a fault shows, in UTF-16 units. */
export const SHOWN_UNITS = 80;

/** A name that the process has chosen, for a fault. */
export function quoted(name: unknown): string {
  return typeof name === 'string' ? JSON.stringify(name.slice(0, SHOWN_UNITS)) : `a ${typeof name}`;
}

/** Throws for a value that is no object, or is null or a list. @param what it is, for the fault. */
export function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new HostFault(`${what} that is no object`);
}
