// Browser tests' harness. Owns which Chromium is driven, and how it is started.

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/**
 * The headless shell first: the same engine without the windows around it opens a page with a third of the CPU. In the
 * others `--headless` draws a window that nobody sees.
 */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

const ARGS = [
  '--no-sandbox',
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts a Chromium of the machine; $CHROMIUM names one that is elsewhere. @throws Error that says how to get one. */
export function launchChromium(): Promise<Browser> {
  const named = process.env.CHROMIUM;
  const executablePath = named ?? PLACES.find((path) => existsSync(path));
  if (executablePath === undefined || !existsSync(executablePath)) {
    throw new Error(
      `the browser tests need Chromium, and there is none at ${named ?? PLACES.join(', ')}: ` +
        'install it (Debian: apt-get install chromium-headless-shell) or name it in the environment variable CHROMIUM',
    );
  }
  return chromium.launch({ executablePath, args: ARGS });
}
