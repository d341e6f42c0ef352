import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { PATIENCE_MS } from '../harness/patience.js';
import { type Service, type ServiceOptions, startService } from '../harness/service.js';

export const DASHBOARD_KINDS = fileURLToPath(
  new URL('../fixtures/dashboard-kinds', import.meta.url),
);

/** Starts a service with the demo bots and a painter. */
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
  /** Errors that the page has reported, and violations of its content security policy. */
  complaints: string[];
}

export interface OpenOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  /** The screen is touched. */
  touch?: boolean;
}

/** An empty page in a new browser context. */
export async function openPage(browser: Browser, options: OpenOptions = {}): Promise<Opened> {
  const { width = 1280, height = 800, dark = false, touch = false } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    hasTouch: touch,
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  });
  // Shorter than a test's timeout, so that the error names the missing element.
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  return { context, page, complaints: listen(page) };
}

/** Collects the errors of a page. */
export function listen(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // A failed request is not an error of the page.
    const isFault = message.type() === 'error' && !/Failed to load resource/.test(message.text());
    if (isFault) complaints.push(message.text());
  });
  return complaints;
}

/** Signs in with a typed PIN. */
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

/** Opens a view of a signed-in page. It is drawn when this resolves: keys that follow are for it. */
export async function show(page: Page, href: string): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    const before = location.href;
    location.hash = ${JSON.stringify(href)};
    // The listener of the page comes first; what it changes is drawn when it returns.
    if (location.href === before) done();
    else addEventListener('hashchange', () => setTimeout(done), { once: true });
  })`);
  // A view that is loaded first is drawn later.
  await page.locator('#main h1').waitFor({ state: 'attached' });
}
