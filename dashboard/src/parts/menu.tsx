import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Icon, type IconName } from './icons.js';

interface Props {
  name: string;
  icon: IconName;
  class?: string;
  onOpen?: (isOpen: boolean) => void;
  /** @param close closes the menu. */
  children: (close: () => void) => ComponentChildren;
}

/** A button with a panel below it, which closes when the focus leaves it and with Escape. */
export function Menu({ name, icon, class: look = '', onOpen, children }: Props) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute('open');
  return (
    <details
      class={`menu ${look}`}
      ref={menu}
      onToggle={({ currentTarget }) => onOpen?.(currentTarget.open)}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget && !menu.current?.contains(relatedTarget as Node)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current?.open) return;
        event.preventDefault();
        close();
        menu.current?.querySelector('summary')?.focus();
      }}
    >
      <summary aria-label={name} title={name}>
        <Icon name={icon} />
      </summary>
      <div class="menu-items">{children(close)}</div>
    </details>
  );
}
