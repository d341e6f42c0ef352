// Owns a box with text that may be longer than there is room: it scrolls, and so it can be reached with the keyboard.

import type { ComponentChildren } from 'preact';

export function TextBox({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    <section class="text-box" tabIndex={0} aria-label={name}>
      <pre>{children}</pre>
    </section>
  );
}
