import { serviceUrl } from '../hub/service-address.js';
import { clockTime } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { sayError } from '../parts/toasts.js';
import { type PlainKey, t } from '../texts/text.js';
import { type Call, cancelCall, runCall } from './calls.js';
import { curlText, droverText, type ShellCall } from './shell-text.js';

/** What the result of a call is named, for screen readers too. */
const NAMES: Readonly<Record<Call['state'], PlainKey>> = {
  running: 'call.running',
  done: 'call.done',
  failed: 'call.failed',
  cancelled: 'call.cancelled',
};

/** One call of a command with its result, and what can be done with it. */
export function CallEntry({ call }: { call: Call }) {
  const { key, bot, command, args, shown, schema, at, state, ms, text } = call;
  const name = t('call.name', { command, time: clockTime(at).slice(0, 8) });
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
          {state === 'running' ? '' : `, ${t('time.ms', { n: ms })}`}
        </span>
        <span class="call-actions">
          {state === 'running' ? (
            <button
              type="button"
              aria-label={t('call.cancel', { call: name })}
              onClick={() => cancelCall(key)}
            >
              {t('button.cancel')}
            </button>
          ) : (
            <button type="button" aria-label={t('call.againOf', { call: name })} onClick={again}>
              {t('call.again')}
            </button>
          )}
          <CopyShell call={{ bots: [bot], command, args: shown }} of={name} />
        </span>
      </header>
      {state === 'running' ? (
        <p class="muted" role="status">
          {t('state.running')}
        </p>
      ) : (
        <TextBox name={t(NAMES[state])}>
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
    copy(text, isWithout ? t('call.withoutSecret', { what }) : what).catch(sayError);
  };
  return (
    <>
      <button
        type="button"
        aria-label={t('call.copyDroverOf', { call: of })}
        title={t('call.copyDrover')}
        onClick={() => take(droverText(call, serviceUrl()), t('term.command'))}
      >
        <Icon name="copy" />
        drover
      </button>
      <button
        type="button"
        aria-label={t('call.copyCurlOf', { call: of })}
        title={t('call.copyCurl')}
        onClick={() => take(curlText(call, serviceUrl()), t('term.command'))}
      >
        <Icon name="copy" />
        curl
      </button>
    </>
  );
}
