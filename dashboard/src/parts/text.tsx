import type { ComponentChildren } from 'preact';
import { type Piece, pieces } from './ansi.js';

/** Characters shown in a row: more do not fit, and a huge text node is slow. */
const ROW_CHARS = 1000;

/** The text of a log line as text nodes and spans, never as markup. @param mark text to highlight, case-insensitive. */
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
  if (mark === '' && parts.length === 1 && only?.style === '') return <>{only.text}</>;
  const marks = mark === '' ? [] : matchesOf(parts.map((piece) => piece.text).join(''), mark);
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

function drawn({ style }: Piece, content: ComponentChildren, key: number) {
  return style === '' ? (
    content
  ) : (
    <span key={key} class={style}>
      {content}
    </span>
  );
}

type MatchSpan = readonly [from: number, to: number];

/** All matches, also across differently styled pieces. */
function matchesOf(text: string, mark: string): MatchSpan[] {
  const lower = text.toLowerCase();
  const wanted = mark.toLowerCase();
  // Some letters change length when lowercased; then the positions would be wrong.
  if (lower.length !== text.length) return [];
  const found: MatchSpan[] = [];
  for (let at = lower.indexOf(wanted); at >= 0; ) {
    const to = at + wanted.length;
    found.push([at, to]);
    at = lower.indexOf(wanted, to);
  }
  return found;
}

/** Highlights the matches in the piece that starts at `begin`. */
function marked(part: string, begin: number, marks: readonly MatchSpan[]): ComponentChildren {
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
