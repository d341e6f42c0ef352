import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../../src/client/index.js';
import { signIn } from '../model/session.js';
import { set, settings } from '../model/settings.js';
import { span } from '../model/time.js';
import { rich, t } from '../texts/text.js';
import { KeepSignedIn } from './keep-signed-in.js';

const LENGTH = 6;
/** Longest name of a token, in characters. */
const MAX_NAME = 64;
/** Lock time in ms if the service does not give one. */
const DEFAULT_LOCK_MS = 5000;
const BOXES = Array.from({ length: LENGTH }, (_, at) => at);

/** Signs in with the PIN. */
export function PinForm() {
  const [digits, setDigits] = useState<readonly string[]>(BOXES.map(() => ''));
  const [isKept, setKept] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [lock, setLock] = useState<{ until: number; ms: number }>();
  const left = useCountdown(lock?.until ?? 0);
  const boxes = useRef<(HTMLInputElement | null)[]>([]);

  useEffect(() => {
    boxes.current[0]?.focus();
  }, []);

  async function send(pin: string): Promise<void> {
    setBusy(true);
    setFault(undefined);
    setLock(undefined);
    try {
      await signIn(pin, settings.value.name.trim(), isKept);
    } catch (thrown) {
      setDigits(BOXES.map(() => ''));
      if (thrown instanceof ApiError && thrown.status === 429) {
        const ms = thrown.retryAfterMs ?? DEFAULT_LOCK_MS;
        setLock({ until: Date.now() + ms, ms });
      } else if (thrown instanceof ApiError && thrown.status === 401) {
        setFault(t('signIn.wrongPin'));
      } else {
        const { message } = thrown as Error;
        const isElsewhere = thrown instanceof ApiError && thrown.status === 403;
        // The message says what to configure.
        setFault(isElsewhere ? t('signIn.notHere', { reason: message }) : message);
      }
      boxes.current[0]?.focus();
    } finally {
      setBusy(false);
    }
  }

  /** Fills in digits from one box on, or a whole PIN from the first. Other characters are ignored. */
  function enter(box: number, text: string): void {
    // Paste events also reach a read-only box.
    if (isBusy) return;
    const all = text.replace(/\D/g, '');
    const at = all.length < LENGTH ? box : 0;
    const given = all.slice(0, LENGTH - at);
    const next = digits.map((digit, place) => given[place - at] ?? (place === at ? '' : digit));
    setDigits(next);
    if (given === '') return;
    boxes.current[Math.min(LENGTH - 1, at + given.length)]?.focus();
    if (next.every((digit) => digit !== '') && left === 0) void send(next.join(''));
  }

  function onKeyDown(at: number, event: KeyboardEvent): void {
    if (isBusy) return;
    if (event.key === 'ArrowLeft') boxes.current[at - 1]?.focus();
    else if (event.key === 'ArrowRight') boxes.current[at + 1]?.focus();
    else if (event.key === 'Backspace' && digits[at] === '' && at > 0) {
      setDigits(digits.map((digit, place) => (place === at - 1 ? '' : digit)));
      boxes.current[at - 1]?.focus();
    } else return;
    event.preventDefault();
  }

  const isComplete = digits.every((digit) => digit !== '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isComplete && left === 0) void send(digits.join(''));
      }}
    >
      <label class="field">
        {t('signIn.name')}
        <input
          maxLength={MAX_NAME}
          autocomplete="name"
          value={settings.value.name}
          onInput={({ currentTarget }) => set({ name: currentTarget.value })}
        />
        <span class="muted">{t('signIn.nameHint')}</span>
      </label>
      <fieldset class="pin">
        <legend>{t('signIn.pin')}</legend>
        <div class="pin-boxes">
          {BOXES.map((at) => (
            <input
              key={at}
              ref={(element) => {
                boxes.current[at] = element;
              }}
              aria-label={t('signIn.digit', { n: at + 1, all: LENGTH })}
              inputMode="numeric"
              autocomplete={at === 0 ? 'one-time-code' : 'off'}
              value={digits[at]}
              // Not `disabled`, which would lose the focus.
              readOnly={isBusy}
              aria-invalid={fault !== undefined}
              onInput={({ currentTarget }) => {
                const { value } = currentTarget;
                // A digit typed into a full box replaces its digit.
                enter(at, value.length === 2 ? value.replace(digits[at] ?? '', '') : value);
                currentTarget.value = digits[at] ?? '';
              }}
              onPaste={(event) => {
                event.preventDefault();
                enter(at, event.clipboardData?.getData('text') ?? '');
              }}
              onFocus={({ currentTarget }) => currentTarget.select()}
              onKeyDown={(event) => onKeyDown(at, event)}
            />
          ))}
        </div>
      </fieldset>
      <div class="sign-in-state" aria-live="polite">
        {lock && left > 0 ? (
          <p class="fault" data-locked>
            {t('signIn.tooMany')} {/* Screen readers get this once, not every second. */}
            <span class="unseen">{t('signIn.againIn', { time: span(lock.ms) })}</span>
            <span aria-hidden="true">
              {rich('signIn.againIn', { time: <strong>{left} s</strong> })}
            </span>
          </p>
        ) : fault ? (
          <p class="fault">{fault}</p>
        ) : lock ? (
          <p>{t('signIn.again')}</p>
        ) : (
          <p class="muted">{t('signIn.pinHint')}</p>
        )}
      </div>
      <KeepSignedIn isKept={isKept} onChange={setKept} />
      <button type="submit" class="primary" disabled={isBusy || !isComplete || left > 0}>
        {isBusy ? t('state.signingIn') : t('signIn.in')}
      </button>
    </form>
  );
}

/** Whole seconds left. */
function useCountdown(until: number): number {
  const [now, setNow] = useState(Date.now());
  const left = Math.max(0, Math.ceil((until - now) / 1000));
  useEffect(() => {
    setNow(Date.now());
    if (until <= Date.now()) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [until, left === 0]);
  return left;
}
