import { useLayoutEffect, useRef } from 'preact/hooks';
import { clockTime, fullTime } from '../model/time.js';
import { LineText } from '../parts/text.js';

interface Props {
  name: string;
  /** `<level> <bot> <scope>: <message>`, oldest first. */
  lines: readonly string[];
  /** When each was written; empty in reports of earlier versions. */
  times: readonly number[];
}

/** The last lines before an incident, with the last one in sight. */
export function LastLines({ name, lines, times }: Props) {
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length]);
  if (lines.length === 0) return null;
  return (
    <section>
      <div class="block-title">{name}</div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard */}
      <section ref={box} class="text-box last-lines" tabIndex={0} aria-label={name}>
        <ol>
          {lines.map((line, at) => (
            <li key={at} class={`row-${line.slice(0, line.indexOf(' '))}`}>
              {times[at] === undefined ? null : (
                <time title={fullTime(times[at])}>{clockTime(times[at])}</time>
              )}
              <span>
                <LineText text={line} isWhole />
              </span>
            </li>
          ))}
        </ol>
      </section>
    </section>
  );
}
