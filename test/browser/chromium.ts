import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/**
 * The headless shell comes first: the same engine without a window system opens a page with a third of the CPU. The
 * others draw an invisible window with `--headless`.
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

/**
 * Starts an installed Chromium. $CHROMIUM names one in another place.
 * @param hasScrollbars they take room, as on most desktops; else none is drawn.
 * @throws Error that says how to install one.
 */
export function launchChromium(hasScrollbars = false): Promise<Browser> {
  const named = process.env.CHROMIUM;
  const executablePath = named ?? PLACES.find((path) => existsSync(path));
  if (executablePath === undefined || !existsSync(executablePath)) {
    throw new Error(
      `the browser tests need Chromium, and there is none at ${named ?? PLACES.join(', ')}: ` +
        'install it (Debian: apt-get install chromium-headless-shell) or name it in the environment variable CHROMIUM',
    );
  }
  const ignoreDefaultArgs = hasScrollbars ? ['--hide-scrollbars'] : [];
  return chromium.launch({ executablePath, args: ARGS, ignoreDefaultArgs });
}
