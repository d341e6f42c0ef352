import { ownName } from '../hub/service-address.js';

const KEY = ownName('drover.token');

type StorageName = 'sessionStorage' | 'localStorage';

/** The tab's token, else the browser's. */
export function storedToken(): string | null {
  return read('sessionStorage') ?? read('localStorage');
}

/** The browser's token. */
export function persistentToken(): string | null {
  return read('localStorage');
}

/** Replaces the stored tokens. @param isPersistent keeps it after the tab is closed. */
export function storeToken(token: string, isPersistent: boolean): void {
  write('sessionStorage', token);
  write('localStorage', isPersistent ? token : null);
}

/** Stores a token from another tab for this tab, so that a reload uses it. */
export function storeTokenInTab(token: string): void {
  write('sessionStorage', token);
}

export function forgetToken(): void {
  write('sessionStorage', null);
  write('localStorage', null);
}

function read(storage: StorageName): string | null {
  try {
    return globalThis[storage].getItem(KEY);
  } catch {
    return null;
  }
}

function write(storage: StorageName, token: string | null): void {
  try {
    if (token === null) globalThis[storage].removeItem(KEY);
    else globalThis[storage].setItem(KEY, token);
  } catch {
    // Storage is blocked: the token is lost on reload.
  }
}
