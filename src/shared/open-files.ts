import { readdirSync, readFileSync, statSync } from 'node:fs';

/**
 * Files that this process may have open, sockets included; null when the system does not say. Node has raised it to the hard
 * limit.
 */
export function maxOpenFiles(): number | null {
  try {
    // Not from process.report, which takes 60 ms.
    return numberIn(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  } catch {
    const { userLimits } = process.report.getReport() as { userLimits?: UserLimits };
    return numberIn(userLimits?.open_files?.soft);
  }
}

const OWN_FILES = '/proc/self/fd';

/** Files that this process has open; null where that is not cheap to find out (Linux before 6.2, other systems). */
export function countOpenFiles(): number | null {
  try {
    // The size of this directory is the number of open files: 20,000 streams need not be listed.
    return statSync(OWN_FILES).size || null;
  } catch {
    return null;
  }
}

/**
 * Counts them by listing the directory, on any Linux: some ms for 10,000. Infinite when no descriptor is left to do so.
 */
export function listOpenFiles(): number | null {
  try {
    // Subtracts the descriptor that the listing uses.
    return readdirSync(OWN_FILES).length - 1;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EMFILE' ? Number.POSITIVE_INFINITY : null;
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
