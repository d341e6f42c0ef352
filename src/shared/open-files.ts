import { readFileSync } from 'node:fs';

/**
 * Files that this process may have open, sockets included; null when the system does not say. Node has raised it to the hard
 * limit.
 */
export function maxOpenFiles(): number | null {
  try {
    // A report takes 60 ms.
    return numberIn(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  } catch {
    const { userLimits } = process.report.getReport() as { userLimits?: UserLimits };
    return numberIn(userLimits?.open_files?.soft);
  }
}

interface UserLimits {
  open_files?: { soft: unknown };
}

/** Null for `unlimited`. */
function numberIn(value: unknown): number | null {
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}
