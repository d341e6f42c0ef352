import { countOpenFiles, maxOpenFiles } from '../../shared/open-files.js';
import { residentMemory } from '../../shared/process-memory.js';

export interface ProcessMetrics {
  cpuSeconds: number;
  residentBytes: number;
  /** Unix epoch, in s. */
  startedAt: number;
  /** Null before Linux 6.2 and on other systems, where counting them means listing them. */
  openFiles: number | null;
  /** Null if unlimited or unknown. */
  maxFiles: number | null;
}

const MAX_FILES = maxOpenFiles();

export function processMetrics(): ProcessMetrics {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: residentMemory(),
    startedAt: Date.now() / 1000 - process.uptime(),
    openFiles: countOpenFiles(),
    maxFiles: MAX_FILES,
  };
}
