// The frames of a stack by what stays the same from one failure to the next: functions and files, without lines and directories.

import type { StackFrame } from '../contract/bots.js';
import { lastName } from './normal-text.js';

/** Frames that count, the innermost: what is below them calls everything. */
const MAX_FRAMES = 5;
/** Frames of a host that hangs, the outermost: the innermost ones depend on the moment of the capture. */
const MAX_OUTER_FRAMES = 2;
/** Lines of a stack that are read: an endless recursion has more. */
const MAX_LINES = 400;
/** Longest line that is read, in UTF-16 units. */
const MAX_LINE_UNITS = 400;

const PLACE = /^(?:(.*?) ?\()?(.*?)(?::\d+){0,2}\)?$/;
const PYTHON_FRAME = /^ *File "([^"]+)", line \d+(?:, in (.+))?$/;
const PYTHON_START = /^ *Traceback \(most recent call last\)/;

interface Frame {
  name: string;
  file: string;
}

/**
 * @param stack of Node (also of hangs), Java or Python, as text or as frames. @param isChance the innermost frames are chance.
 * @returns `<function> in <file>` of the frames that tell, innermost first; none when it has no frames of any code but the platform's.
 */
export function normalStack(
  stack: readonly StackFrame[] | string | null,
  isChance = false,
): string[] {
  if (stack === null) return [];
  const frames = typeof stack === 'string' ? framesOf(stack) : stack.map(ofFrame);
  const shown = frames
    .filter(isOwn)
    .map(({ name, file }) => `${nameOf(name)} in ${lastName(file)}`);
  // Merges repetitions: a recursion has its function once for each level.
  const distinct = shown.filter((frame, at) => frame !== shown[at - 1]);
  return isChance ? distinct.slice(-MAX_OUTER_FRAMES) : distinct.slice(0, MAX_FRAMES);
}

/** Innermost first. */
function framesOf(stack: string): Frame[] {
  let frames: Frame[] = [];
  const python: Frame[] = [];
  // Keeps the innermost part of a long stack: the end in Python, the start elsewhere.
  const all = stack.split('\n');
  const lines =
    all.length <= MAX_LINES ? all : [...all.slice(0, MAX_LINES / 2), ...all.slice(-MAX_LINES / 2)];
  for (const line of lines) {
    if (line.length > MAX_LINE_UNITS) continue;
    if (PYTHON_START.test(line)) {
      // The last of several is what was thrown; those before it are its causes.
      python.length = 0;
      continue;
    }
    const [, file, name = ''] = PYTHON_FRAME.exec(line) ?? [];
    if (file !== undefined) python.push({ name, file });
    else if (/^\s+at /.test(line)) frames.push(ofLine(line.trim().slice('at '.length)));
  }
  if (python.length > 0) frames = python.reverse();
  return frames;
}

/** `fn (file:1:2)`, `async fn (file:1:2)`, `file:1:2`, `new Thing (file:1:2)`, `fn [as other] (file:1:2)`. */
function ofLine(text: string): Frame {
  const [, name = '', file = ''] = PLACE.exec(text) ?? [];
  return { name, file };
}

function ofFrame({ function: name, url }: StackFrame): Frame {
  return { name, file: url };
}

function nameOf(name: string): string {
  const plain = name
    .replace(/^(?:async|new) /, '')
    .replace(/ \[as [^\]]*\]$/, '')
    .replace(/^(?:Object|Module|Function|process)\./, '')
    .replace(/\d+/g, '<n>');
  return plain === '' || plain === '<anonymous>' || plain === '<module>' ? '(top)' : plain;
}

/** Leaves out frames of the platform, which are the same in every failure. */
function isOwn({ file }: Frame): boolean {
  return (
    file !== '' &&
    !/^(?:node:|native$|index \d|eval at |<frozen |<anonymous>|<string>|wasm:)/.test(file) &&
    !/[\\/]lib[\\/]python3[.\d]*[\\/](?!site-packages)/.test(file)
  );
}
