// Runs in tabs. Owns the rules that fire, as the hub says, and the notifications of the browser.

import { signal } from '@preact/signals';
import type { Rule } from '../../../src/client/index.js';
import type { Alarm } from '../hub/alerts.js';
import { set, settings } from './settings.js';

export const firing = signal<readonly Rule[]>([]);

/** What the browser says to notifications. `missing`: it has none, or the page came over plain http. */
export type Permission = NotificationPermission | 'missing';
export const permission = signal<Permission>(permissionNow());

function permissionNow(): Permission {
  return 'Notification' in globalThis && isSecureContext ? Notification.permission : 'missing';
}

/** Asks the browser; to be called on a click. */
export async function allowNotifications(): Promise<void> {
  if (permissionNow() === 'missing') return;
  permission.value = await Notification.requestPermission();
  set({ notify: permission.value === 'granted' });
}

/** Tells the user, if wanted. @param done is called in any case: no other tab has to. */
export function notify({ tag, text }: Alarm, done: () => void): void {
  permission.value = permissionNow();
  if (settings.value.notify && permission.value === 'granted') {
    try {
      const shown = new Notification('Drover', { body: text, tag });
      shown.onclick = () => {
        window.focus();
        location.hash = '#/alerts';
        shown.close();
      };
    } catch {
      // Chrome on Android shows none without a service worker. The badge and the page say the same.
      permission.value = 'missing';
    }
  }
  done();
}
