// Runs in tabs. Owns the user's settings in localStorage; all tabs follow changes.

import { computed, effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['comfortable', 'compact'] as const;

export interface Settings {
  theme: (typeof THEMES)[number];
  density: (typeof DENSITIES)[number];
  /** IANA name; '' is the browser's time zone. */
  zone: string;
  /**
   * Single-key shortcuts. Users of speech input, for example, need to turn them off (WCAG 2.1.4).
   */
  keys: boolean;
  /** Alerts become notifications of the browser, once it allows them. */
  notify: boolean;
  /** Who signs in with the PIN: what they do is told under this name. '' for no name. */
  name: string;
}

const KEY = 'drover.settings';
const DEFAULTS: Settings = {
  theme: 'system',
  density: 'comfortable',
  zone: '',
  keys: true,
  notify: false,
  name: '',
};

export const settings = signal<Settings>(read());

export function set(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // Storage is full or blocked: the setting applies to this tab only.
  }
}

function read(): Settings {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>;
    return {
      theme: THEMES.find((theme) => theme === stored.theme) ?? DEFAULTS.theme,
      density: DENSITIES.find((density) => density === stored.density) ?? DEFAULTS.density,
      zone: typeof stored.zone === 'string' && isZone(stored.zone) ? stored.zone : DEFAULTS.zone,
      keys: stored.keys !== false,
      notify: stored.notify === true,
      name: typeof stored.name === 'string' ? stored.name : DEFAULTS.name,
    };
  } catch {
    return DEFAULTS;
  }
}

function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', zone === '' ? {} : { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

window.addEventListener('storage', ({ key }) => {
  if (key === KEY) settings.value = read();
});

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const isSystemDark = signal(systemDark.matches);
systemDark.addEventListener('change', ({ matches }) => {
  isSystemDark.value = matches;
});

/** The effective theme. */
export const theme = computed(() => {
  const { theme: chosen } = settings.value;
  return chosen === 'system' ? (isSystemDark.value ? 'dark' : 'light') : chosen;
});

effect(() => {
  const { dataset } = document.documentElement;
  dataset['theme'] = theme.value;
  dataset['density'] = settings.value.density;
});
