import { describe, expect, it } from 'vitest';
import { historyLines } from '../../../dashboard/src/model/history-lines.js';
import { fileLines, MAX_LINE } from '../../../dashboard/src/runs/file-lines.js';
import { saidBy } from '../../../dashboard/src/runs/note.js';
import { noteText } from '../../../dashboard/src/runs/note-text.js';
import { Recording } from '../../../dashboard/src/runs/recording.js';
import { readReport } from '../../../dashboard/src/runs/report.js';
import { openFile } from '../../../dashboard/src/runs/run-file.js';
import { lengthText, sinceText } from '../../../dashboard/src/runs/run-time.js';
import { junitReport } from '../../../src/cli/recording/check-report.js';
import type { IncidentGroup } from '../../../src/client/index.js';
import { recording, recordingLines, STARTED_AT_MS, type Step } from '../../harness/recordings.js';

const STEPS: Step[] = [
  { at: 0, bot: 'old-1', status: 'failed', error: 'before the run' },
  { at: 0, bot: 'demo-1', status: 'starting', labels: { team: 'a' } },
  { at: 10, line: 'hello', bot: 'demo-1' },
  { at: 20, bot: 'demo-1', status: 'in_world' },
  { at: 100, line: 'slow answer', level: 'warn', bot: 'demo-1', scope: 'tcp' },
  { at: 200, lost: 7 },
  { at: 1000, line: 'lost 10.0.0.1:99', level: 'error', bot: 'demo-1' },
  { at: 1001, bot: 'demo-1', status: 'backoff', error: 'lost 10.0.0.1:99' },
  { at: 1500, line: 'lost 10.0.0.2:99', level: 'error', bot: 'demo-1' },
  { at: 1600, line: 'of the service' },
  { at: 1700, bot: 'demo-1', status: 'deleted', error: 'lost 10.0.0.1:99' },
];
const nothing = (): void => {};

/** What a file is refused with, in words. */
async function refusal(file: Blob): Promise<string> {
  return openFile(file, nothing).then(
    () => 'opened',
    (thrown: unknown) => noteText(saidBy(thrown)),
  );
}

async function read(text: string, maxRows?: number): Promise<Recording> {
  const found = new Recording(new Blob([text]), maxRows);
  await found.read(nothing);
  return found;
}

/** All lines that a query lets through, page by page. */
async function texts(of: Recording, query = '', order: 'newest' | 'oldest' = 'oldest') {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await of.events({ query, order, limit: 2, cursor }, nothing);
    expect(page.events.length).toBeLessThanOrEqual(2);
    found.push(...historyLines(page.events).map(({ text }) => text));
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
const groupsOf = (of: Recording) =>
  of.incidentGroups({}).groups.map(({ first_at_ms, last_at_ms, ...rest }) => ({
    ...rest,
    first: first_at_ms - STARTED_AT_MS,
    last: last_at_ms - STARTED_AT_MS,
  }));

describe('a recording', () => {
  it('is counted, with its bots and causes', async () => {
    const of = await read(recording(STEPS, 2000));
    expect(of.notes).toEqual([]);
    expect(of.facts).toMatchObject({ lengthMs: 2000, events: 11, rows: 6, endedBy: 'command' });
    expect(of.facts).toMatchObject({ bots: 2, causes: 2 });
    expect(of.facts.levels).toEqual({ info: 2, warn: 1, error: 2, state: 0 });
    expect(groupsOf(of)).toMatchObject([
      { type: 'error line', title: 'lost <address>', count: 2, first: 1000, last: 1500 },
      { type: 'failed', count: 1, bots: ['demo-1'], first: 1001 },
    ]);
    const [{ cause = '' } = {}] = groupsOf(of);
    const only = of.incidentGroups({ cause, after: STARTED_AT_MS, before: STARTED_AT_MS + 2000 });
    expect(only.groups.map(({ counts }) => counts.slice(0, 3))).toEqual([[0, 2, 0]]);
    expect(of.incidentGroups({ before: STARTED_AT_MS + 999 }).groups).toEqual([]);
  });

  it('counts all bots of a cause, and names all of them where one cause is asked for', async () => {
    const ids = Array.from({ length: 150 }, (_, n) => `bot-${n}`);
    const of = await read(
      recording([
        ...ids.map((bot, at): Step => ({ at, line: 'lost', level: 'error', bot })),
        { at: 200, line: 'lost', level: 'error', bot: 'bot-0' },
      ]),
    );
    const [{ cause, bots, bot_count } = {} as IncidentGroup] = of.incidentGroups({}).groups;
    expect({ named: bots, bot_count }).toEqual({ named: ids.slice(0, 100), bot_count: 150 });
    expect(of.incidentGroups({ cause }).groups).toMatchObject([{ bots: ids, bot_count: 150 }]);
  });

  it('has its rows read from the file, as bytes', async () => {
    const steps: Step[] = [
      { at: 1, line: 'größer 🐑' },
      { at: 2, line: 'next' },
    ];
    const of = await read(recording(steps, 3).replaceAll('\n', '\r\n'));
    const { events } = await of.events({ order: 'oldest' }, nothing);
    expect(historyLines(events)).toMatchObject([
      { text: 'größer 🐑', at: STARTED_AT_MS + 1, level: 'info' },
      { text: 'next', at: STARTED_AT_MS + 2 },
    ]);
  });

  it.each([
    ['level:error', ['lost 10.0.0.1:99', 'lost 10.0.0.2:99']],
    ['lost -bot:demo-1', []],
    ['scope:tcp /slow/', ['slow answer']],
    // The state of the bot is the one that it has at the line.
    ['status:in_world', ['slow answer', 'lost 10.0.0.1:99']],
    ['label:team=a', ['hello']],
  ])('is searched with %s', async (query, found) => {
    const of = await read(recording(STEPS, 2000));
    const shown = await texts(of, query);
    expect(await texts(of, query, 'newest')).toEqual(shown.toReversed());
    // Gaps are always shown, with what is missing in words.
    const gap = '7 events are missing here (e-1 to e-9)';
    expect(shown).toContain(gap);
    expect(shown.filter((text) => text !== gap)).toEqual(found);
  });

  it('has pages before and after a line, and a range', async () => {
    const of = await read(recording(STEPS, 2000));
    const { events } = await of.events({ order: 'oldest', limit: 3 }, nothing);
    const id = events[1]?.id ?? '';
    const page = async (where: Parameters<Recording['events']>[0]): Promise<string[]> =>
      historyLines((await of.events(where, nothing)).events).map(({ text }) => text);
    expect(await page({ before: id })).toEqual(['hello']);
    expect(await page({ after: id, order: 'oldest', limit: 2 })).toEqual([
      '7 events are missing here (e-1 to e-9)',
      'lost 10.0.0.1:99',
    ]);
    const range = { after: STARTED_AT_MS + 1000, before: STARTED_AT_MS + 1600 };
    expect(await page(range)).toEqual(['lost 10.0.0.2:99', 'lost 10.0.0.1:99']);
    expect(await page({ ...range, session: ['nobody'] })).toEqual([]);
  });

  it('says how far a search is; one that is ended keeps what it has found, until it is begun again', async () => {
    // More than is read at once.
    const steps = Array.from({ length: 30_000 }, (_, at) => ({ at, line: `busy ${at}` }));
    const of = await read(recording(steps, 30_000));
    const query = '/busy \\d*7$/';
    const counted = async (onPart: (part: { share: number }) => void): Promise<number> => {
      const { buckets } = await of.stats({ query, step: 60 }, onPart);
      return buckets.reduce((sum, { levels }) => sum + (levels['info'] ?? 0), 0);
    };
    const shares: number[] = [];
    expect(await counted(({ share }) => shares.push(share))).toBe(3000);
    expect(shares.length).toBeGreaterThan(2);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.at(-1)).toBe(1);
    of.again();
    const stopped = await counted(() => of.stop());
    expect(stopped).toBeGreaterThan(0);
    expect(stopped).toBeLessThan(3000);
    expect(await counted(nothing)).toBe(stopped);
    const { events } = await of.events({ query, order: 'oldest', limit: 1 }, nothing);
    expect(historyLines(events)[0]?.text).toBe('busy 7');
    of.again();
    expect(await counted(nothing)).toBe(3000);
  });

  it('is counted over time, without gaps', async () => {
    const of = await read(recording(STEPS, 2000));
    const { buckets } = await of.stats({ step: 1 }, nothing);
    expect(buckets).toEqual([
      { at_ms: STARTED_AT_MS, levels: { info: 1, warn: 1 } },
      { at_ms: STARTED_AT_MS + 1000, levels: { error: 2, info: 1 } },
    ]);
    const ofErrors = await of.stats({ step: 1, query: 'level:error' }, nothing);
    expect(ofErrors.buckets).toEqual([{ at_ms: STARTED_AT_MS + 1000, levels: { error: 2 } }]);
  });

  it('knows the herd of each moment', async () => {
    const of = await read(recording(STEPS, 2000));
    const at = (ms: number) =>
      of.states(STARTED_AT_MS + ms).states.map(({ id, status }) => `${id} ${status}`);
    expect(at(19)).toEqual(['old-1 failed', 'demo-1 starting']);
    expect(at(1200)).toEqual(['old-1 failed', 'demo-1 backoff']);
    expect(at(2000)).toEqual(['old-1 failed']);
    expect(of.states(STARTED_AT_MS + 1200).states[1]).toMatchObject({
      since_ms: STARTED_AT_MS + 1001,
      data: { lines: 4, errors: 2 },
    });
  });

  it('shows what is readable of one that is broken or cut off', async () => {
    const lines = recordingLines(STEPS, 2000);
    lines.splice(3, 1, '{"at_ms":1,"event":"log","data":{}}', 'not JSON');
    const broken = await read(`${lines.join('\n')}\n`);
    expect(broken.facts.rows).toBe(5);
    expect(broken.notes.map(noteText)).toEqual([
      '2 lines are not events and were left out. The first is line 4.',
    ]);
    const whole = recording(STEPS, 2000);
    const cut = await read(whole.slice(0, whole.indexOf('of the service')));
    expect(cut.facts).toMatchObject({ rows: 5, endedBy: null, lengthMs: 1500 });
    expect(cut.notes.map(noteText)).toEqual([
      'The recording has no end, and its last line is cut off: the recorder was killed, or the file is incomplete. What was readable is shown.',
    ]);
  });

  it('is read up to a bound, and says so', async () => {
    const { facts, notes } = await read(recording(STEPS, 2000), 3);
    expect(facts.rows).toBe(3);
    expect(notes.map(noteText)[0]).toMatch(
      /^Only the first 3 lines are shown, up to 0.2 s after the start/,
    );
  });

  it('never goes back in time, as the clock may', async () => {
    const steps: Step[] = [
      { at: 50, line: 'first' },
      { at: 20, line: 'second' },
    ];
    const of = await read(recording(steps, 60));
    const { events } = await of.events({}, nothing);
    expect(historyLines(events).map(({ at }) => at - STARTED_AT_MS)).toEqual([50, 50]);
  });
});

it.each([
  ['', 'the file is empty'],
  ['\u001f\u008b', 'neither a recording'],
  ['{"drover_recording":2}\n', 'has version 2'],
  ['{"drover_recording":1}\n', 'does not say when it started'],
  ['{"a":1}', 'it has no expectations'],
  ['<a/>', 'has no test suite'],
  ['<a', 'does not end'],
  ['hello', 'neither a recording'],
])('a file with %j is refused with a reason', async (text, why) => {
  expect(await refusal(new Blob([text]))).toContain(why);
});

it('a compressed file is refused with what to do', async () => {
  const file = new Blob([Uint8Array.of(0x1f, 0x8b, 8, 0)]);
  expect(await refusal(file)).toContain('unpack it first');
});

it('what is wrong with a file is worded', async () => {
  const { notes } = await read(recording(STEPS, 2000), 3);
  expect(notes.map(noteText)).toEqual([
    'Only the first 3 lines are shown, up to 0.2 s after the start: that is the limit for one file.',
  ]);
  expect(await refusal(new Blob(['<a']))).toBe(
    'the file is not a JUnit report: line 1 is not XML: the tag <a> does not end',
  );
});

it('a line that is too long is left out, and the next one is read', async () => {
  const found = [];
  const file = new Blob(['a\n', 'x'.repeat(MAX_LINE + 1), '\nb']);
  for await (const lines of fileLines(file)) found.push(...lines);
  expect(found.map(({ text, isCut }) => [text, isCut])).toEqual([
    ['a', false],
    [undefined, false],
    ['b', true],
  ]);
  expect(found[2]?.at).toBe(MAX_LINE + 4);
});

describe('a report', () => {
  it('of drover check is read', () => {
    const xml = junitReport({
      source: 'run.ndjson',
      run_ms: 5000,
      events: 3,
      missing: null,
      passed: false,
      expectations: [
        { text: 'line "<b>" of demo-1', passed: true, message: 'happened', after_ms: 1200 },
        { text: 'no errors', passed: false, message: 'found one: a & b', after_ms: 40 },
      ],
    });
    expect(readReport(xml)).toEqual({
      notes: [],
      expectations: [
        {
          suite: 'drover check run.ndjson',
          name: 'line "<b>" of demo-1',
          result: 'passed',
          message: '',
          afterMs: 1200,
        },
        {
          suite: 'drover check run.ndjson',
          name: 'no errors',
          result: 'failed',
          message: 'found one: a & b',
          afterMs: 40,
        },
      ],
    });
  });

  it('of another program is read', () => {
    const { expectations } = readReport(`<?xml version="1.0"?><!-- c --><!DOCTYPE testsuites>
      <testsuites><testsuite name="s"><testcase name='a &#x41;' classname="C"><skipped/></testcase>
      <testcase name="b"><error message="m"><![CDATA[stack <1>]]></error><system-out>no</system-out>
      </testcase></testsuite></testsuites>`);
    expect(expectations).toMatchObject([
      { name: 'C › a A', result: 'skipped', afterMs: null },
      { name: 'b', result: 'failed', message: 'm\nstack <1>' },
    ]);
  });

  it('that is cut off shows what was readable', () => {
    const { expectations, notes } = readReport(
      '<testsuite>\n<testcase name="a"/>\n<testcase name="b',
    );
    expect(expectations.map(({ name }) => name)).toEqual(['a']);
    expect(notes.map(noteText)[0]).toMatch(/only in part: line 3 is not XML/);
  });

  it('with its own entities is not read', async () => {
    const file = new Blob(['<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>']);
    expect(await refusal(file)).toContain('its own declarations');
  });
});

it('times of a run are written as people read them', () => {
  expect([0, 7482, 3_723_004].map(sinceText)).toEqual(['+0:00.000', '+0:07.482', '+1:02:03.004']);
  expect([820, 12_440, 200_000, 7_500_000].map(lengthText)).toEqual([
    '820 ms',
    '12.4 s',
    '3 min 20 s',
    '2 h 5 min',
  ]);
});
