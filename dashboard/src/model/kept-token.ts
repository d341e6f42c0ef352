// Runs in tabs. Owns where the token is kept: with the tab, and beyond it when a person has said so.

const KEY = 'drover.token';

type Place = 'sessionStorage' | 'localStorage';

/** That of the tab, or of the browser. */
export function keptToken(): string | null {
  return read('sessionStorage') ?? read('localStorage');
}

/** That of the browser: it was made with a PIN. */
export function longKeptToken(): string | null {
  return read('localStorage');
}

/** @param isLong beyond this tab's life. What was kept before goes in any case. */
export function keepToken(token: string, isLong: boolean): void {
  write('sessionStorage', token);
  write('localStorage', isLong ? token : null);
}

/** That which the tab has from another: a reload begins with it. */
export function keepTokenHere(token: string): void {
  write('sessionStorage', token);
}

export function forgetToken(): void {
  write('sessionStorage', null);
  write('localStorage', null);
}

function read(place: Place): string | null {
  try {
    return globalThis[place].getItem(KEY);
  } catch {
    return null;
  }
}

function write(place: Place, token: string | null): void {
  try {
    if (token === null) globalThis[place].removeItem(KEY);
    else globalThis[place].setItem(KEY, token);
  } catch {
    // Not allowed: it lives as long as the tab.
  }
}
