import type { ComponentChildren } from 'preact';

/** A scrollable box for long text, reachable with the keyboard. */
export function TextBox({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard
    <section class="text-box" tabIndex={0} aria-label={name}>
      <pre>{children}</pre>
    </section>
  );
}
