// The title of an icon without text, shown when the keyboard reaches it: browsers show titles to the pointer only.

import { useEffect, useRef, useState } from 'preact/hooks';

/** Between the icon and its title, and to the edges of the window, in px. */
const GAP = 6;

interface Tip {
  text: string;
  /** The icon's middle, its bottom and its top, in the window. */
  middle: number;
  below: number;
  above: number;
}

/** Once on the page. Screen readers have the title already. */
export function IconTip() {
  const [tip, setTip] = useState<Tip>();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const show = ({ target }: Event): void => setTip(tipOf(target));
    const hide = (): void => setTip(undefined);
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') hide();
    };
    const events = [
      ['focusin', show],
      ['focusout', hide],
      ['pointerdown', hide],
      ['scroll', hide],
      ['keydown', onKey],
    ] as const;
    for (const [name, run] of events) addEventListener(name, run as EventListener, true);
    return () => {
      for (const [name, run] of events) removeEventListener(name, run as EventListener, true);
    };
  }, []);
  useEffect(() => {
    const { current } = box;
    if (!tip || !current) return;
    // Above dialogs too. Older browsers have no popovers: there it is below them.
    current.showPopover?.();
    const { width, height } = current.getBoundingClientRect();
    const left = Math.min(innerWidth - width - GAP, Math.max(GAP, tip.middle - width / 2));
    const isBelow = tip.below + GAP + height <= innerHeight;
    const top = isBelow ? tip.below + GAP : tip.above - GAP - height;
    current.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }, [tip]);
  if (!tip) return null;
  return (
    <div key={tip.text} ref={box} class="icon-tip" popover="manual" aria-hidden="true">
      {tip.text}
    </div>
  );
}

/** Undefined for what has text, or was not reached with the keyboard. */
function tipOf(target: EventTarget | null): Tip | undefined {
  if (!(target instanceof HTMLElement) || !target.matches('[title]:focus-visible'))
    return undefined;
  if (!target.matches('button, summary, a') || [...target.childNodes].some(isRead))
    return undefined;
  const { left, width, bottom: below, top: above } = target.getBoundingClientRect();
  return { text: target.title, middle: left + width / 2, below, above };
}

/** Text that is seen. That of a narrow menu is there for screen readers only, one px wide. */
function isRead(node: Node): boolean {
  if (node instanceof SVGElement || (node.textContent ?? '').trim() === '') return false;
  return !(node instanceof HTMLElement) || node.getBoundingClientRect().width > 1;
}
