// Owns how the text of a line is drawn: text nodes and spans, never markup.

import type { ComponentChildren } from 'preact';
import { type Piece, pieces } from './ansi.js';

/** What a row shows of a line: more does not fit, and a megabyte in one text node is slow. */
const ROW_CHARS = 1000;

/** @param mark text to be marked, in whatever case. */
export function LineText({
  text,
  mark = '',
  isWhole = false,
}: {
  text: string;
  mark?: string;
  isWhole?: boolean;
}) {
  const shown = isWhole || text.length <= ROW_CHARS ? text : `${text.slice(0, ROW_CHARS)} …`;
  const parts = pieces(shown, isWhole);
  const [only] = parts;
  if (mark === '' && parts.length === 1 && only?.look === '') return <>{only.text}</>;
  const marks = mark === '' ? [] : placesOf(parts.map((piece) => piece.text).join(''), mark);
  let from = 0;
  return (
    <>
      {parts.map((piece, at) => {
        const content = marks.length === 0 ? piece.text : marked(piece.text, from, marks);
        from += piece.text.length;
        return drawn(piece, content, at);
      })}
    </>
  );
}

function drawn({ look }: Piece, content: ComponentChildren, key: number) {
  return look === '' ? (
    content
  ) : (
    <span key={key} class={look}>
      {content}
    </span>
  );
}

type Place = readonly [from: number, to: number];

/** Where a text is found, also across what is coloured differently. */
function placesOf(text: string, mark: string): Place[] {
  const lower = text.toLowerCase();
  const wanted = mark.toLowerCase();
  // Some letters change their length with their case; then places do not fit.
  if (lower.length !== text.length) return [];
  const found: Place[] = [];
  for (let at = lower.indexOf(wanted); at >= 0; ) {
    const to = at + wanted.length;
    found.push([at, to]);
    at = lower.indexOf(wanted, to);
  }
  return found;
}

/** The part of a text that begins at `begin`. */
function marked(part: string, begin: number, marks: readonly Place[]): ComponentChildren {
  const found: ComponentChildren[] = [];
  let done = 0;
  for (const [from, to] of marks) {
    const [first, last] = [Math.max(0, from - begin), Math.min(part.length, to - begin)];
    if (first >= last) continue;
    if (first > done) found.push(part.slice(done, first));
    found.push(<mark key={first}>{part.slice(first, last)}</mark>);
    done = last;
  }
  if (done < part.length) found.push(part.slice(done));
  return found;
}
