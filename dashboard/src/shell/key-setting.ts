// Runs in tabs. Owns whether keys without Ctrl or Alt do something: people who speak to their computer, or whose hands slip,
// switch them off (WCAG 2.1.4). All tabs follow.

import { signal } from '@preact/signals';

const KEY = 'drover.keys';

export const areKeysOn = signal(read());

export function setKeysOn(isOn: boolean): void {
  areKeysOn.value = isOn;
  try {
    if (isOn) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, 'off');
  } catch {
    // No room or not allowed: then it holds for this tab.
  }
}

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
}

window.addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) areKeysOn.value = read();
});
