import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { applyImage, imageOf } from '../../../src/shared/memory/cell-image.js';
import { CommandLog } from '../../../src/shared/memory/command-log.js';
import { Heartbeat } from '../../../src/shared/memory/heartbeat.js';
import { CrashNote, readCrashNote } from '../../../src/shared/pipe/crash-note.js';
import { FrameReader } from '../../../src/shared/pipe/frame-reader.js';
import { header, packMessage, unpackMessage } from '../../../src/shared/pipe/frames.js';

describe('frames', () => {
  const frames: [number, Uint8Array][] = [
    [0, packMessage({ type: 'tell', method: 'awake', input: null })],
    [7, new Uint8Array(0)],
    [2, new Uint8Array(100_000).fill(3)],
    [4_000_000_000, Uint8Array.of(1)],
  ];
  const bytes = Buffer.concat(
    frames.flatMap(([channel, body]) => [header(channel, body.length), body]),
  );

  it.each([1, 7, 8, 9, 1000, 65_536, bytes.length])('arrive whole in pieces of %i', (size) => {
    const seen: [number, Buffer][] = [];
    const reader = new FrameReader((channel, body) => seen.push([channel, Buffer.from(body)]));
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    expect(seen).toEqual(frames.map(([channel, body]) => [channel, Buffer.from(body)]));
  });

  it('have bytes that can be transferred', () => {
    const reader = new FrameReader((_, body) => {
      expect(body.byteLength).toBe(body.buffer.byteLength);
    });
    expect.assertions(frames.length);
    reader.push(bytes);
  });

  it('that are longer than 64 MiB are none', () => {
    const reader = new FrameReader(() => {});
    expect(() => reader.push(header(0, 64 * 2 ** 20 + 1))).toThrow(
      'a frame of 67108865 bytes, and 67108864 are allowed',
    );
  });
});

it('a message arrives as it would over a port', () => {
  const message = {
    type: 'return',
    id: 7,
    output: {
      none: undefined,
      nothing: null,
      text: 'é\u{1f600}',
      list: [1.5, -3, 2 ** 40],
      '': {},
    },
  };
  expect(unpackMessage(packMessage(message))).toEqual(message);
  expect(unpackMessage(packMessage({ output: undefined }))).toEqual({ output: undefined });
});

it('an image of cells is stored as they were', () => {
  const cells = Heartbeat.create();
  new Heartbeat(cells).beat({ used: 5 * 2 ** 20, limit: 2 ** 31 }, 12);
  const other = Heartbeat.create();
  applyImage(imageOf(cells), other);
  expect(new Heartbeat(other).heap).toEqual({ used: 5 * 2 ** 20, limit: 2 ** 31 });
  expect(new Heartbeat(other).lateMs).toBe(12);
  expect(() => applyImage(new Uint8Array(4), other)).toThrow(RangeError);
});

describe('what a process leaves for the time after a crash', () => {
  const file = (): number => {
    const dir = fs.mkdtempSync(path.join(tmpdir(), 'drover-test-'));
    onTestFinished(() => fs.rmSync(dir, { recursive: true }));
    const fd = fs.openSync(path.join(dir, 'note'), 'wx+');
    onTestFinished(() => fs.closeSync(fd));
    return fd;
  };

  it('is the last run that was not 0, and the last commands', () => {
    const fd = file();
    const cells = CommandLog.create();
    const note = new CrashNote(fd, cells);
    for (const run of [4, 0, 5, 0]) note.noteRun(run);
    new CommandLog(cells).note('abort', 'bot-1');
    note.noteCommands();
    const seen = CommandLog.create();
    expect(readCrashNote(fd, seen, false)).toBe(5);
    expect(new CommandLog(seen).read()).toEqual([{ number: 0, command: 'abort', bot: 'bot-1' }]);
  });

  it('is nothing when the process has written nothing', () => {
    const seen = CommandLog.create();
    expect(readCrashNote(file(), seen, true)).toBe(0);
    expect(new CommandLog(seen).read()).toEqual([]);
  });
});
