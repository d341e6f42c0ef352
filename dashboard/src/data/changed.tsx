import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clockTime, serverNow } from '../model/time.js';
import { t } from '../texts/text.js';

/** How long a change is marked, in ms. */
const MARKED_MS = 3000;

/** Marks what it shows for some seconds when its text becomes another one, and says when that was. */
export function Changed({ text, children }: { text: string; children: ComponentChildren }) {
  const before = useRef(text);
  const [at, setAt] = useState<number>();
  const [isMarked, setMarked] = useState(false);
  useEffect(() => {
    if (before.current === text) return;
    before.current = text;
    setAt(serverNow());
    setMarked(true);
    const timer = setTimeout(() => setMarked(false), MARKED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <span
      class={isMarked ? 'value is-changed' : 'value'}
      title={at === undefined ? text : t('data.changed', { value: text, time: clockTime(at) })}
    >
      {children}
    </span>
  );
}
