// Runs in main. Owns what is said when the dashboard is not there.

import { existsSync } from 'node:fs';
import { DASHBOARD_DIR } from '../shared/package-paths.js';

/** The warning when there is no dashboard to serve, undefined when there is. */
export function dashboardFault(): string | undefined {
  if (existsSync(`${DASHBOARD_DIR}/index.html`)) return undefined;
  return `the dashboard is not built (${DASHBOARD_DIR} is missing), so GET / is 404; npm run build makes it`;
}
