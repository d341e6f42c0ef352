// Two recordings of the same bots, one of which went wrong, and a report.

import { recording, type Step } from '../harness/recordings.js';

export interface RunFile {
  name: string;
  text: string;
}

const BOTS = ['painter-1', 'painter-2'];

function begin(ids: readonly string[]): Step[] {
  return ids.flatMap((bot, at): Step[] => [
    { at: at * 10, bot, status: 'starting' },
    { at: 500 + at * 10, line: `good morning from ${bot} <img src=x>`, bot },
    { at: 1000 + at * 10, bot, status: 'in_world' },
  ]);
}

const work = (bot: string, fromMs: number, toMs: number): Step[] =>
  Array.from({ length: Math.floor((toMs - fromMs) / 200) }, (_, n) => ({
    at: fromMs + n * 200,
    line: `stroke ${n} of ${bot}`,
    bot,
    level: n % 17 === 16 ? 'warn' : 'info',
  }));

const byTime = (steps: Step[]): Step[] => steps.sort((a, b) => a.at - b.at);

/** Everything as it should be. */
export const GOOD: RunFile = {
  name: 'good.ndjson',
  text: recording(
    byTime([
      ...begin([...BOTS, 'painter-3']),
      ...[...BOTS, 'painter-3'].flatMap((bot) => work(bot, 1200, 9000)),
    ]),
    9000,
  ),
};

/** Both bots lose the world after 6 s, and again later; the third one is not there. */
export const NIGHTLY: RunFile = {
  name: 'nightly.ndjson',
  text: recording(
    byTime([
      ...begin(BOTS),
      ...BOTS.flatMap((bot, at): Step[] => [
        ...work(bot, 1200, 6000),
        ...[6000, 10_000].map(
          (ms): Step => ({
            at: ms + at,
            line: `lost the world at 10.0.0.${at + 1}:4000`,
            level: 'error',
            bot,
          }),
        ),
        {
          at: 6001 + at,
          bot,
          status: 'backoff',
          error: `lost the world at 10.0.0.${at + 1}:4000`,
        },
      ]),
      { at: 8000, lost: 12 },
    ]),
    12_000,
  ),
};

export const JUNIT: RunFile = {
  name: 'report.xml',
  text: `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" time="12.000">
  <testsuite name="drover check nightly.ndjson" tests="3" failures="1" errors="0" skipped="0" time="12.000">
    <testcase classname="drover check" name="bot painter-1 in_world within 5s" time="1.000"/>
    <testcase classname="drover check" name="no errors" time="6.000">
      <failure message="found one after 6 s: painter-1 lost the world"/>
    </testcase>
    <testcase classname="drover check" name="no line &quot;panic&quot;" time="12.000"/>
  </testsuite>
</testsuites>
`,
};
