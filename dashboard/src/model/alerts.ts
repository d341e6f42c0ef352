// Runs in tabs. Owns the rules that fire, as the hub says, and the notifications of the browser.

import { signal } from '@preact/signals';
import type { Rule } from '../../../src/client/index.js';
import type { Alarm } from '../hub/alerts.js';
import { set, settings } from './settings.js';

export const firing = signal<readonly Rule[]>([]);

/** The browser's permission for notifications. `missing`: it has none, or the page came over plain http. */
export type Permission = NotificationPermission | 'missing';
const hasNotifications = 'Notification' in globalThis && isSecureContext;
export const permission = signal<Permission>(
  hasNotifications ? Notification.permission : 'missing',
);

/** The user may change it at any time in the browser, or answer in another tab. */
async function followPermission(): Promise<void> {
  const status = await navigator.permissions.query({ name: 'notifications' });
  const take = (): void => {
    permission.value = status.state === 'prompt' ? 'default' : status.state;
  };
  status.onchange = take;
  take();
}

// Where the permission cannot be queried, the browser's first answer counts.
if (hasNotifications) followPermission().catch(() => {});

/** Asks the browser; to be called on a click. */
export async function allowNotifications(): Promise<void> {
  permission.value = await Notification.requestPermission();
  set({ notify: permission.value === 'granted' });
}

/** Notifies the user, if wanted. @param done is called in any case, so that no other tab does. */
export async function notify({ tag, text }: Alarm, done: () => void): Promise<void> {
  if (settings.value.notify && permission.value === 'granted') {
    const body = await inWords(text);
    try {
      const shown = new Notification('Drover', { body, tag });
      shown.onclick = () => {
        window.focus();
        location.hash = '#/problems';
        shown.close();
      };
    } catch {
      // Chrome on Android shows none without a service worker. The badge and the page say the same.
      permission.value = 'missing';
    }
  }
  done();
}

/** The line in the words of the page. As it is while the service, which has the script for it, is down. */
async function inWords(line: string): Promise<string> {
  try {
    const { notificationText } = await import('../problems/alert-text.js');
    return notificationText(line);
  } catch {
    return line;
  }
}
