import { useState } from 'preact/hooks';
import type { Answer, BulkRun } from '../model/bulk-run.js';
import { hrefTo } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { VirtualList } from '../parts/virtual-list.js';

const ROW_PX = 32;
const STATES: Readonly<Record<Answer['state'], string>> = {
  waiting: 'waiting',
  running: 'running…',
  done: 'done',
  failed: 'failed',
};

/** How far it is, and what each bot has answered. */
export function BulkAnswers({ run }: { run: BulkRun }) {
  void run.version.value;
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [open, setOpen] = useState<string>();
  const { answers, failed, answered } = run;
  const rows = [...answers].filter(([, { state }]) => !onlyFailed || state === 'failed');
  const whole = open === undefined ? undefined : answers.get(open);
  return (
    <div class="dialog-body bulk">
      <div class="bulk-progress">
        <progress aria-label="Bots that have answered" value={answered} max={answers.size} />
        <span role="status">
          {answered.toLocaleString('en')} of {answers.size.toLocaleString('en')} answered
          {failed.length > 0 ? `, ${failed.length.toLocaleString('en')} failed` : ''}
        </span>
        {failed.length > 0 || onlyFailed ? (
          <label class="check">
            <input
              type="checkbox"
              checked={onlyFailed}
              onChange={({ currentTarget }) => setOnlyFailed(currentTarget.checked)}
            />
            Only failed
          </label>
        ) : null}
      </div>
      <VirtualList
        class="bulk-list"
        count={rows.length}
        base={0}
        rowHeight={ROW_PX}
        attributes={{ role: 'table', 'aria-label': 'Answers', 'aria-rowcount': rows.length }}
        row={(index) => {
          const [id, { state, text }] = rows[index] ?? ['', { state: 'waiting', text: '' }];
          return (
            <div class={`bulk-row bulk-${state}`} role="row" data-answer={id} data-state={state}>
              <span role="cell">
                {/* In another tab: the answers are here. */}
                <a href={hrefTo('bots', id)} target="_blank" rel="noreferrer">
                  {id}
                </a>
              </span>
              <span role="cell" class="bulk-state">
                {state === 'done' || state === 'failed' ? (
                  <Icon name={state === 'done' ? 'check' : 'warn'} />
                ) : null}
                {STATES[state]}
              </span>
              <span role="cell">
                {text === '' ? null : (
                  <button
                    type="button"
                    class="quiet bulk-text"
                    title="Show all of it"
                    aria-expanded={open === id}
                    onClick={() => setOpen(open === id ? undefined : id)}
                  >
                    <LineText text={text} />
                  </button>
                )}
              </span>
            </div>
          );
        }}
      />
      {open !== undefined && whole ? (
        <TextBox name={`Answer of ${open}`}>
          <LineText text={indented(whole.text)} isWhole />
        </TextBox>
      ) : null}
    </div>
  );
}

/** Runs it again for those that failed. */
export function RetryFailed({ run }: { run: BulkRun }) {
  void run.version.value;
  const { failed } = run;
  if (failed.length === 0) return null;
  return (
    <button type="button" onClick={() => void run.run(failed)}>
      Retry {failed.length.toLocaleString('en')} failed
    </button>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
