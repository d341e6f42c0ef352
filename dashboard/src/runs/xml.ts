// Runs in the worker of a run. Reads the XML of reports as a list of tags and texts. It resolves no declared entities and loads
// nothing, so a hostile document costs its length. Workers do not have the browser's parser.

import { NoteError, note, type Said } from './note.js';

export type XmlPart =
  | { type: 'open'; name: string; attributes: ReadonlyMap<string, string>; isEmpty: boolean }
  | { type: 'close'; name: string }
  | { type: 'text'; text: string };

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};
const NAME = /[^\s/>=]+/y;
const ATTRIBUTE = /\s*([^\s/>=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/y;
const END_OF_TAG = /\s*(\/?)>/y;

/** @throws NoteError that says where the document is broken; what was before it has been yielded. */
export function* xmlParts(text: string): Generator<XmlPart> {
  const open: string[] = [];
  let at = 0;
  const fail = (reason: Said): never => {
    const line = text.slice(0, at).split('\n').length;
    throw new NoteError(note('runs.notXml', { line, reason }));
  };
  const skipTo = (end: string, otherwise: Said): string => {
    const to = text.indexOf(end, at);
    if (to < 0) fail(otherwise);
    const inner = text.slice(at, to);
    at = to + end.length;
    return inner;
  };
  while (at < text.length) {
    if (text[at] !== '<') {
      const to = text.indexOf('<', at);
      const inner = text.slice(at, to < 0 ? undefined : to);
      at = to < 0 ? text.length : to;
      if (open.length > 0 && inner.trim() !== '') yield { type: 'text', text: decoded(inner) };
    } else if (text.startsWith('<!--', at)) {
      at += 4;
      skipTo('-->', note('runs.xmlEndlessComment'));
    } else if (text.startsWith('<![CDATA[', at)) {
      at += 9;
      yield { type: 'text', text: skipTo(']]>', note('runs.xmlEndlessCdata')) };
    } else if (text.startsWith('<?', at)) skipTo('?>', note('runs.xmlEndlessInstruction'));
    else if (text.startsWith('<!', at)) {
      const declared = skipTo('>', note('runs.xmlEndlessDeclaration'));
      if (declared.includes('[')) fail(note('runs.xmlDeclarations'));
    } else if (text.startsWith('</', at)) {
      at += 2;
      const name = skipTo('>', note('runs.xmlEndlessTag')).trim();
      const wanted = open.pop();
      if (name !== wanted) fail(note('runs.xmlClosesOther', { name: name.slice(0, 40) }));
      yield { type: 'close', name };
    } else {
      at += 1;
      const [name = ''] = match(NAME) ?? [];
      if (name === '') fail(note('runs.xmlNoName'));
      const attributes = new Map<string, string>();
      for (let found = match(ATTRIBUTE); found; found = match(ATTRIBUTE)) {
        attributes.set(found[1] ?? '', decoded(found[2] ?? found[3] ?? ''));
      }
      const end = match(END_OF_TAG);
      if (!end) fail(note('runs.xmlEndlessName', { name: name.slice(0, 40) }));
      const isEmpty = end?.[1] === '/';
      if (!isEmpty) open.push(name);
      yield { type: 'open', name, attributes, isEmpty };
      if (isEmpty) yield { type: 'close', name };
    }
  }
  const left = open.at(-1);
  if (left !== undefined) fail(note('runs.xmlNotClosed', { name: left.slice(0, 40) }));

  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  }
}

function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{1,8}));/gi,
    (all, decimal, hex, name) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all;
      const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
    },
  );
}
