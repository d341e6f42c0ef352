// Runs in tabs. Owns the language of the page: that of the settings, else the first of the browser's that there is. English is part of
// the page; another language is loaded when it is chosen.

import { computed, effect } from '@preact/signals';
import { settings } from '../model/settings.js';
import { en } from './en.js';
import { type Language, language, languageFor, type Texts, useTexts } from './text.js';

const LOADS: Readonly<Record<Exclude<Language, 'en'>, () => Promise<Texts>>> = {
  de: async () => (await import('./de.js')).de,
};

const chosen = computed(() => {
  const { language: own } = settings.value;
  return own === 'system' ? languageFor(navigator.languages) : own;
});

async function load(wanted: Language): Promise<void> {
  try {
    const texts = wanted === 'en' ? en : await LOADS[wanted]();
    // Another one may have been chosen since.
    if (chosen.peek() === wanted) useTexts(wanted, texts);
  } catch {
    // The service is down, or has another version of the page: the language stays as it is.
  }
}

/** Follows the settings. @returns when the first language is there, or cannot be loaded. */
export function startLanguage(): Promise<void> {
  let first: Promise<void> | undefined;
  effect(() => {
    const loading = load(chosen.value);
    first ??= loading;
  });
  effect(() => {
    document.documentElement.lang = language();
  });
  return first ?? Promise.resolve();
}
