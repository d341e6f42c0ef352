import { expect, it } from 'vitest';
import { Signer } from '../../../../src/cluster/wire/signer.js';

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);
const signer = (keys: number[], acceptsUnsigned = false): Signer =>
  new Signer({ keys: keys.map(key), acceptsUnsigned });
const CONTEXT = ['record', 'bots', 'w1'];
const TEXT = '{"v":1,"name":"ü"}';

it('a text is opened in its context only, byte by byte, with its stamp', () => {
  const one = signer([1]);
  const signed = one.sign(CONTEXT, 7, TEXT);
  expect(JSON.parse(signed)).toMatchObject({ v: 1, name: 'ü', mac: expect.stringMatching(/^7\./) });
  expect(one.open(CONTEXT, signed)).toEqual({ text: TEXT, stamp: 7, isCurrent: true });
  const wrong = 'its signature is of another key';
  expect(() => one.open(['record', 'bots', 'w2'], signed)).toThrow(wrong);
  expect(() => one.open(['record', 'botsw1'], signed)).toThrow(wrong);
  expect(() => one.open(CONTEXT, signed.replace('"7.', '"8.'))).toThrow(wrong);
  for (let at = 0; at < signed.length; at++) {
    const changed = `${signed.slice(0, at)}#${signed.slice(at + 1)}`;
    expect(() => one.open(CONTEXT, changed), String(at)).toThrow(/signed with|signature/);
  }
  expect(() => one.open(CONTEXT, TEXT)).toThrow('not signed with the key of the cluster');
  expect(() => signer([2]).open(CONTEXT, signed)).toThrow(wrong);
});

it('bytes that belong to a text are signed, and where it ends', () => {
  const one = signer([1]);
  const bytes = Buffer.from('\n{"more":1}');
  const signed = one.sign(CONTEXT, 1, TEXT, bytes);
  expect(one.open(CONTEXT, signed, bytes).text).toBe(TEXT);
  expect(() => one.open(CONTEXT, signed)).toThrow();
  expect(() => one.open(CONTEXT, `${signed}${bytes}`)).toThrow();
});

it('a key is replaced in steps: the first signs, all are accepted', () => {
  const signed = signer([1]).sign(CONTEXT, 1, TEXT);
  expect(signer([2, 1]).open(CONTEXT, signed)).toEqual({ text: TEXT, stamp: 1, isCurrent: false });
  expect(signer([1, 2]).open(CONTEXT, signer([2, 1]).sign(CONTEXT, 1, TEXT)).isCurrent).toBe(false);
});

it('without a key nothing is signed, and each text is accepted without its signature', () => {
  const none = signer([]);
  expect(none.sign(CONTEXT, 1, TEXT)).toBe(TEXT);
  const signed = signer([1]).sign(CONTEXT, 1, TEXT);
  expect(none.open(CONTEXT, signed)).toEqual({ text: TEXT, stamp: null, isCurrent: true });
});

it('what is not signed is accepted while nodes get a key', () => {
  const lax = signer([1], true);
  expect(lax.isStrict).toBe(false);
  const other = signer([2]).sign(CONTEXT, 1, TEXT);
  for (const text of [TEXT, other])
    expect(lax.open(CONTEXT, text)).toEqual({ text: TEXT, stamp: null, isCurrent: false });
});
