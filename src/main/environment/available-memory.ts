import { totalmem } from 'node:os';

/** Bytes that this process may use: the limit of its control group where there is one, otherwise the machine's memory. */
export function availableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
