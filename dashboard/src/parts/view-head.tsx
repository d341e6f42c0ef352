import type { ComponentChildren } from 'preact';

export function ViewHead({
  title,
  note,
  children,
}: {
  title: ComponentChildren;
  note?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="view-head">
      <div class="view-title">
        <h1>{title}</h1>
        {note ? <span class="view-note">{note}</span> : null}
      </div>
      <div class="view-actions">{children}</div>
    </header>
  );
}
