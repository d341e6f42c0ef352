// Owns how the text of a line is drawn: text nodes and spans, never markup.

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
  return <>{parts.map((piece, at) => drawn(piece, mark, at))}</>;
}

function drawn({ text, look }: Piece, mark: string, key: number) {
  const content = mark === '' ? text : marked(text, mark.toLowerCase());
  return look === '' ? (
    content
  ) : (
    <span key={key} class={look}>
      {content}
    </span>
  );
}

function marked(text: string, mark: string) {
  const lower = text.toLowerCase();
  // Some letters change their length with their case; then places do not fit.
  if (lower.length !== text.length) return text;
  const found = [];
  let from = 0;
  for (let at = lower.indexOf(mark); at >= 0; at = lower.indexOf(mark, from)) {
    if (at > from) found.push(text.slice(from, at));
    from = at + mark.length;
    found.push(<mark key={at}>{text.slice(at, from)}</mark>);
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}
