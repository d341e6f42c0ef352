// Runs in main and the fronts. Owns where the built dashboard lies: beside the built service.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `dist/dashboard`, as vite leaves it (dashboard/vite.config.ts). */
export const DASHBOARD_DIR = fileURLToPath(new URL('../dashboard', import.meta.url));

/** The warning when there is no dashboard to serve, undefined when there is. */
export function dashboardFault(): string | undefined {
  if (existsSync(`${DASHBOARD_DIR}/index.html`)) return undefined;
  return `the dashboard is not built (${DASHBOARD_DIR} is missing), so GET / is 404; npm run build makes it`;
}
