import { beforeEach, expect, it, vi } from 'vitest';
import { AlarmCalls } from '../../../dashboard/src/hub/alarm-calls.js';
import { type Alarm, HubAlerts } from '../../../dashboard/src/hub/alerts.js';
import type { LogEvent, Rule } from '../../../src/client/index.js';

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

const rule = (name: string, state: Rule['state']): Rule => ({ name, state }) as Rule;
const line = (message: string, scope = 'drover.rules'): LogEvent =>
  ({ scope, message }) as LogEvent;

function hub(answers: (Rule[] | Error)[]) {
  const firing: string[][] = [];
  const alarms: Alarm[] = [];
  let asked = 0;
  const alerts = new HubAlerts({
    async load() {
      const answer = answers[Math.min(asked++, answers.length - 1)];
      if (answer instanceof Error) throw answer;
      return answer ?? [];
    },
    changed: (rules) => firing.push(rules.map(({ name }) => name)),
    alarm: (alarm) => alarms.push(alarm),
  });
  return { alerts, firing, alarms, asked: () => asked };
}

it('asks once for lines that come together, and once more for those that came meanwhile', async () => {
  const { alerts, firing, alarms, asked } = hub([[rule('a', 'firing'), rule('b', 'ok')]]);
  alerts.saw('e-1', line('rule "a \\"x\\"" fires: 3 lines in 60 s, at least 3'));
  alerts.saw('e-2', line('rule "b" is over after 7 s'));
  alerts.saw('e-3', line('rule "c" was deleted by "pin"', 'drover.control'));
  alerts.saw('e-4', line('rule "d" fires: x', 'bot'));
  await vi.runAllTimersAsync();
  expect(asked()).toBe(2);
  expect(firing).toEqual([['a']]);
  expect(alarms).toEqual([
    { tag: 'drover-alert-e-1', text: 'rule "a \\"x\\"" fires: 3 lines in 60 s, at least 3' },
  ]);
});

it('a name that looks like the text of another line raises nothing', async () => {
  const { alerts, alarms } = hub([[]]);
  alerts.saw('e-1', line('rule "x\\" fires: y" is over after 3 s'));
  expect(alarms).toEqual([]);
});

it('keeps what it knows when the service does not answer, and forgets it with the session', async () => {
  const { alerts, firing } = hub([[rule('a', 'firing')], new Error('down')]);
  alerts.refresh();
  await vi.runAllTimersAsync();
  alerts.refresh();
  await vi.runAllTimersAsync();
  expect(firing).toEqual([['a']]);
  alerts.clear();
  expect(firing).toEqual([['a'], []]);
  expect(alerts.firing).toEqual([]);
});

it('an answer for a session that has ended is dropped', async () => {
  const { alerts, firing } = hub([[rule('a', 'firing')]]);
  alerts.refresh();
  alerts.clear();
  await vi.runAllTimersAsync();
  expect(firing).toEqual([]);
});

it('one tab shows an alarm; a frozen one is passed over after a while', async () => {
  const sent: string[] = [];
  const tabs = ['frozen', 'awake', 'other'];
  const calls = new AlarmCalls<string>(
    () => tabs,
    (tab, { tag }) => {
      sent.push(`${tab} ${tag}`);
      if (tab === 'awake') calls.told(tag);
    },
  );
  calls.raise({ tag: 't', text: '' });
  expect(sent).toEqual(['frozen t']);
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent).toEqual(['frozen t', 'awake t']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toEqual(['frozen t', 'awake t']);
});

it('gives up when no tab answers, and drops alarms beyond its bound', async () => {
  const sent: string[] = [];
  const calls = new AlarmCalls<string>(
    () => ['a', 'b'],
    (tab, { tag }) => sent.push(`${tab}${tag}`),
  );
  for (let n = 0; n < 25; n++) calls.raise({ tag: String(n), text: '' });
  expect(sent.length).toBe(20);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent.length).toBe(40);
  calls.raise({ tag: 'late', text: '' });
  expect(sent.at(-1)).toBe('alate');
});
