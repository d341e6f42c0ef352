import { describe, expect, it } from 'vitest';
import { CLEAR_LINE, safeText } from '../../../src/shared/terminal.js';
import { printed } from '../../harness/printed.js';

/** Sets the title; clears the screen, in one character; turns text around; begins a line that the program did not write. */
const EVIL = '\u001b]0;title\u0007\u009b2J\u202etxt\u2066\u200f\r\ndrover: all is well';

describe('what is printed', () => {
  it('has no control characters but line breaks and tabs', () => {
    expect(printed(EVIL, '\tend\n')).toBe(
      '\\u001b]0;title\\u0007\\u009b2J\\u202etxt\\u2066\\u200f\\u000d\ndrover: all is well\tend\n',
    );
  });

  it('has the colours of the program, and none from what it shows', () => {
    expect(printed({ color: 31, text: 'a\u001b[8mb' })).toBe('\u001b[31ma\\u001b[8mb\u001b[0m');
    expect(printed(CLEAR_LINE, 'a')).toBe('\r\u001b[Ka');
  });

  it('is on one line where it must be, and a JSON text means the same as before', () => {
    expect(safeText(EVIL)).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
    expect(JSON.parse(printed(JSON.stringify({ EVIL }, null, 2)))).toEqual({ EVIL });
  });
});
