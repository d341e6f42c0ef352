// The titles of icons without text, for the keyboard.

import { expect, it, onTestFinished } from 'vitest';
import { launchChromium } from './chromium.js';
import { openPage, show, signIn, startForDashboard } from './dashboard-page.js';

it('the keyboard gets the title of an icon, in dialogs and in the narrow menu too', async () => {
  const browser = await launchChromium();
  onTestFinished(() => browser.close());
  const service = await startForDashboard({ demo: false });
  onTestFinished(async () => {
    await service.stop();
  });
  // The menu has signs only.
  const { page, complaints } = await openPage(browser, { width: 900 });
  await signIn(page, service);
  await show(page, '#/bots');
  await page.getByRole('heading', { name: 'Bots' }).waitFor();
  const tip = page.locator('.icon-tip');

  await page.getByRole('link', { name: 'Log', exact: true }).focus();
  await page.keyboard.press('Shift+Tab');
  await expect.poll(() => tip.textContent()).toBe('Bots');

  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await expect.poll(() => tip.count()).toBe(0);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  const close = dialog.getByRole('button', { name: 'Close' });
  await close.focus();
  await expect.poll(() => tip.textContent()).toBe('Close');
  const [icon, box] = [await close.boundingBox(), await tip.boundingBox()];
  expect(box?.y).toBeGreaterThan(icon?.y ?? 0);
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(900);
  // Above the dialog, which is above everything else.
  expect(await page.evaluate("document.querySelector('.icon-tip').matches(':popover-open')")).toBe(
    true,
  );

  // The pointer has the browser's own.
  await close.click();
  await page.getByLabel('Columns', { exact: true }).click();
  await expect.poll(() => tip.count()).toBe(0);
  expect(complaints).toEqual([]);
});
