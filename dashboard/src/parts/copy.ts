import { t } from '../texts/text.js';
import { keepFocus } from './focus.js';
import { say, sayError } from './toasts.js';

/** Copies text. Pages over plain http have no clipboard API, hence the fallback. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else copyByHand(text);
    say(t('copy.done', { what }));
  } catch (thrown) {
    sayError(thrown, t('copy.failed'));
  }
}

function copyByHand(text: string): void {
  const giveBack = keepFocus();
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  // Inside an open dialog: nothing outside of it can be selected.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  giveBack();
  if (!isDone) throw new Error(t('copy.forbidden'));
}

/** Hands a file to the browser's downloads. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
