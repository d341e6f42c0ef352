// Browser tests' harness. Owns how a page of the dashboard is opened and signed in, and the service that it is of.

import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { type Service, type ServiceOptions, startService } from '../harness/service.js';

export const DASHBOARD_KINDS = fileURLToPath(
  new URL('../fixtures/dashboard-kinds', import.meta.url),
);

/** A service with the demo bots and a painter. */
export function startForDashboard(options: ServiceOptions = {}): Promise<Service> {
  return startService({
    demo: true,
    ...options,
    config: {
      kinds: [DASHBOARD_KINDS],
      bots: [
        {
          id: 'painter-1',
          kind: 'painter',
          config: { greeting: 'good morning' },
          labels: { team: 'art' },
        },
      ],
      ...options.config,
    },
  });
}

export interface Opened {
  context: BrowserContext;
  page: Page;
  /** What the page has complained of: errors, and what its policy has refused. */
  complaints: string[];
}

export interface OpenOptions {
  width?: number;
  height?: number;
  dark?: boolean;
}

/** How long is waited for something to be seen, in ms. */
const WAIT_MS = 15_000;

/** An empty page in a new browser context. */
export async function openPage(browser: Browser, options: OpenOptions = {}): Promise<Opened> {
  const { width = 1280, height = 800, dark = false } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  });
  // Below that of a test, so that what was waited for is said.
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  return { context, page, complaints: listen(page) };
}

/** What a page complains of. */
export function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // That a request failed is no fault of the page.
    const isFault = message.type() === 'error' && !/Failed to load resource/.test(message.text());
    if (isFault) complaints.push(message.text());
  });
  return complaints;
}

/** Signs in with the PIN, as a person would who pastes nothing. */
export async function signIn(page: Page, service: Service): Promise<void> {
  await page.goto(service.url);
  await page.getByLabel('Digit 1 of 6').click();
  await page.keyboard.type(service.pin);
  await page.locator('[data-connection=open]').waitFor();
}

/** Opens the page with a token, as an embedded webview does. */
export async function openWithToken(page: Page, service: Service, token: string): Promise<void> {
  await page.goto(`${service.url}/#token=${encodeURIComponent(token)}`);
  await page.locator('[data-connection=open]').waitFor();
}

/** Shows a view of a page that is signed in. */
export async function show(page: Page, href: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(href)}`);
}
