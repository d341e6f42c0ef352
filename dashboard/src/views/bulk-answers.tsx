import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer, BulkRun } from '../model/bulk-run.js';
import { hrefTo } from '../model/route.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { VirtualList } from '../parts/virtual-list.js';
import { type PlainKey, t } from '../texts/text.js';

const ROW_PX = 32;
const STATES: Readonly<Record<Answer['state'], PlainKey>> = {
  waiting: 'answer.waiting',
  running: 'answer.running',
  done: 'answer.done',
  failed: 'answer.failed',
};

/** The progress, and the answer of each bot. */
function BulkAnswers({ run }: { run: BulkRun }) {
  void run.version.value;
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [open, setOpen] = useState<string>();
  const { answers, failed, answered } = run;
  const rows = [...answers].filter(([, { state }]) => !onlyFailed || state === 'failed');
  const whole = open === undefined ? undefined : answers.get(open);
  return (
    <div class="dialog-body bulk">
      <div class="bulk-progress">
        <progress aria-label={t('bulk.progress')} value={answered} max={answers.size} />
        <span role="status">
          {failed.length > 0
            ? t('bulk.answeredFailed', { n: answered, all: answers.size, failed: failed.length })
            : t('bulk.answered', { n: answered, all: answers.size })}
        </span>
        {failed.length > 0 || onlyFailed ? (
          <label class="check">
            <input
              type="checkbox"
              checked={onlyFailed}
              onChange={({ currentTarget }) => setOnlyFailed(currentTarget.checked)}
            />
            {t('bulk.onlyFailed')}
          </label>
        ) : null}
      </div>
      <VirtualList
        class="bulk-list"
        count={rows.length}
        base={0}
        rowHeight={ROW_PX}
        attributes={{
          role: 'table',
          'aria-label': t('bulk.answers'),
          'aria-rowcount': rows.length,
        }}
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
                {t(STATES[state])}
              </span>
              <span role="cell">
                {text === '' ? null : (
                  <button
                    type="button"
                    class="quiet bulk-text"
                    title={t('bulk.showAll')}
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
        <TextBox name={t('answer.of', { bot: open })}>
          <LineText text={indented(whole.text)} isWhole />
        </TextBox>
      ) : null}
    </div>
  );
}

interface DialogProps {
  title: string;
  /** What was started; undefined while the form is filled in. */
  run: BulkRun | undefined;
  /** Label of the button that shows the form again. */
  again: string;
  onAgain: () => void;
  onClose: () => void;
  form: ComponentChildren;
  /** Beside the buttons below the answers. */
  beside?: ComponentChildren;
}

/** An action on many bots: its form, then the answers. */
export function BulkDialog({ title, run, again, onAgain, onClose, form, beside }: DialogProps) {
  const isRunning = run?.isRunning.value ?? false;
  return (
    <Dialog
      title={title}
      // The answers are lost with the dialog: while it runs, the first attempt to close it only cancels the rest.
      onClose={() => (isRunning ? run?.cancel() : onClose())}
      isWide
    >
      {/* Hidden while there are answers, so that what was typed is there for the next round. */}
      <div class="bulk-form" hidden={run !== undefined}>
        {form}
      </div>
      {run ? (
        <>
          <BulkAnswers run={run} />
          <footer>
            {beside}
            {isRunning ? (
              <button type="button" onClick={() => run.cancel()}>
                {t('bulk.cancelRest')}
              </button>
            ) : (
              <>
                <button type="button" onClick={onAgain}>
                  {again}
                </button>
                <RetryFailed run={run} />
                <button type="button" class="primary" data-first onClick={onClose}>
                  {t('button.done')}
                </button>
              </>
            )}
          </footer>
        </>
      ) : null}
    </Dialog>
  );
}

/** Runs it again for those that failed. */
function RetryFailed({ run }: { run: BulkRun }) {
  void run.version.value;
  const { failed } = run;
  if (failed.length === 0) return null;
  return (
    <button type="button" onClick={() => void run.run(failed)}>
      {t('bulk.retryFailed', { n: failed.length })}
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
