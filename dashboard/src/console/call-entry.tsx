import { serviceUrl } from '../hub/service-address.js';
import { clockTime } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { sayError } from '../parts/toasts.js';
import { type Call, cancelCall, runCall } from './calls.js';
import { curlText, droverText, type ShellCall } from './shell-text.js';

/** What the result of a call is named, for screen readers too. */
const NAMES: Readonly<Record<Call['state'], string>> = {
  running: 'Running',
  done: 'Result',
  failed: 'Error',
  cancelled: 'Cancelled',
};

/** One call of a command with its result, and what can be done with it. */
export function CallEntry({ call }: { call: Call }) {
  const { key, bot, command, args, shown, schema, at, state, ms, text } = call;
  const name = `${command} at ${clockTime(at).slice(0, 8)}`;
  const again = (): void => {
    runCall(bot, command, args, schema).catch(() => {
      // Its own entry says what went wrong.
    });
  };
  return (
    <li class={`call call-${state}`} data-call={state}>
      <header>
        <strong>{command}</strong>
        <code>
          <LineText text={JSON.stringify(shown)} />
        </code>
        <span class="muted">
          {clockTime(at).slice(0, 8)}
          {state === 'running' ? '' : `, ${ms} ms`}
        </span>
        <span class="call-actions">
          {state === 'running' ? (
            <button type="button" aria-label={`Cancel ${name}`} onClick={() => cancelCall(key)}>
              Cancel
            </button>
          ) : (
            <button type="button" aria-label={`Run again: ${name}`} onClick={again}>
              Run again
            </button>
          )}
          <CopyShell call={{ bots: [bot], command, args: shown }} of={name} />
        </span>
      </header>
      {state === 'running' ? (
        <p class="muted" role="status">
          Running…
        </p>
      ) : (
        <TextBox name={NAMES[state]}>
          <LineText text={text} isWhole />
        </TextBox>
      )}
    </li>
  );
}

/** Copies a call as a command of a shell. Secrets are not in it. */
export function CopyShell({ call, of }: { call: ShellCall; of: string }) {
  const take = (text: string, what: string): void => {
    const isWithout = JSON.stringify(call.args).includes('•••');
    copy(text, isWithout ? `${what} (write the secret in place of •••)` : what).catch(sayError);
  };
  return (
    <>
      <button
        type="button"
        aria-label={`Copy ${of} as a drover command`}
        title="Copy as a drover command"
        onClick={() => take(droverText(call, serviceUrl()), 'Command')}
      >
        <Icon name="copy" />
        drover
      </button>
      <button
        type="button"
        aria-label={`Copy ${of} as a curl command`}
        title="Copy as a curl command"
        onClick={() => take(curlText(call, serviceUrl()), 'Command')}
      >
        <Icon name="copy" />
        curl
      </button>
    </>
  );
}
