// Runs in tabs. Owns what a person has set for this browser. All tabs follow.

import { computed, effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export const DENSITIES = ['comfortable', 'compact'] as const;

export interface Settings {
  theme: (typeof THEMES)[number];
  density: (typeof DENSITIES)[number];
  /** IANA name; '' is that of the browser. */
  zone: string;
  /**
   * Whether keys without Ctrl or Alt do something: people who speak to their computer, or whose hands slip, switch them off
   * (WCAG 2.1.4).
   */
  keys: boolean;
}

const KEY = 'drover.settings';
const DEFAULTS: Settings = { theme: 'system', density: 'comfortable', zone: '', keys: true };

export const settings = signal<Settings>(read());

/** Changes some of them. */
export function set(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // No room or not allowed: then it holds for this tab.
  }
}

function read(): Settings {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>;
    return {
      theme: THEMES.find((theme) => theme === kept.theme) ?? DEFAULTS.theme,
      density: DENSITIES.find((density) => density === kept.density) ?? DEFAULTS.density,
      zone: typeof kept.zone === 'string' && isZone(kept.zone) ? kept.zone : DEFAULTS.zone,
      keys: kept.keys !== false,
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

/** What is drawn: the style sheet knows no third. */
export const theme = computed(() => {
  const { theme: chosen } = settings.value;
  return chosen === 'system' ? (isSystemDark.value ? 'dark' : 'light') : chosen;
});

effect(() => {
  const { dataset } = document.documentElement;
  dataset['theme'] = theme.value;
  dataset['density'] = settings.value.density;
});
