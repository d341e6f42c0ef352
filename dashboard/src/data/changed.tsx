import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clockTime, serverNow } from '../model/time.js';

/** How long a change is marked, in ms. */
const MARKED_MS = 3000;

/** Marks what it shows for some seconds when its text becomes another one. */
export function Changed({ text, children }: { text: string; children: ComponentChildren }) {
  const before = useRef(text);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    setAt(serverNow());
    const timer = setTimeout(() => setAt(undefined), MARKED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <span
      class={at === undefined ? 'value' : 'value is-changed'}
      title={at === undefined ? text : `${text}\nchanged ${clockTime(at)}`}
    >
      {children}
    </span>
  );
}
