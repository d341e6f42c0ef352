// Headers about the length of a body that servers read differently, by what is wrong with them.

export const CHUNKED = 'Transfer-Encoding: chunked';
/** The text in chunks of at most `size` characters. */
export const chunked = (text: string, size = 1_000_000): string => {
  const parts = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
  const chunks = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  return `${chunks.join('')}0\r\n\r\n`;
};

export const LENGTHS: Record<string, readonly string[]> = {
  'the same length twice': ['Content-Length: 2', 'Content-Length: 2'],
  'two lengths': ['Content-Length: 0', 'content-length: 2'],
  'two lengths, the first empty': ['Content-Length:', 'Content-Length: 2'],
  'two lengths, the second empty': ['Content-Length: 2', 'Content-Length: '],
  'an empty length': ['Content-Length: '],
  'a list of lengths': ['Content-Length: 2, 2'],
  'a length with a sign': ['Content-Length: +2'],
  'a negative length': ['Content-Length: -2'],
  'a hexadecimal length': ['Content-Length: 0x2'],
  'a length with a fraction': ['Content-Length: 2.0'],
  'a length beyond 64 bits': ['Content-Length: 18446744073709551618'],
};

export const CODINGS: Record<string, readonly string[]> = {
  'an empty coding': ['Transfer-Encoding:'],
  'an empty coding, then chunked': ['Transfer-Encoding: ', 'Transfer-Encoding: chunked'],
  'chunked, then an empty coding': ['Transfer-Encoding: chunked', 'Transfer-Encoding:'],
  'chunked twice': ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
  'chunked and something else': ['Transfer-Encoding: gzip, chunked'],
  'chunked, but not last': ['Transfer-Encoding: chunked, identity'],
  'another coding': ['Transfer-Encoding: identity'],
  'a coding that is nearly chunked': ['Transfer-Encoding: xchunked'],
  'chunked with a parameter': ['Transfer-Encoding: chunked;q=1'],
  'a coding and a length': ['Transfer-Encoding: chunked', 'Content-Length: 2'],
  'a length and a coding': ['Content-Length: 2', 'Transfer-Encoding: chunked'],
  'an empty length and a coding': ['Content-Length:', 'Transfer-Encoding: chunked'],
  'an empty coding and a length': ['Transfer-Encoding:', 'Content-Length: 2'],
};
