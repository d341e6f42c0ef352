// A secret of a configuration. Its value is never shown: it can be set where there is none, and replaced or removed where there is.

import { createContext } from 'preact';
import type { Json } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/** Paths of the secrets that are set, as the service says them; undefined where that is not known. */
export const SetSecrets = createContext<ReadonlySet<string> | undefined>(undefined);

interface Props {
  id: string;
  /** Of the field, for its buttons. */
  label: string;
  isSet: boolean;
  isRequired: boolean;
  /** A text is the new value, null removes it, undefined leaves it. */
  value: Json | undefined;
  isFaulty: boolean;
  describedBy: string;
  onChange: (value: Json | undefined) => void;
}

export function SecretField(props: Props) {
  const { id, label, isSet, isRequired, value, isFaulty, describedBy, onChange } = props;
  const leave = (
    <button type="button" onClick={() => onChange(undefined)}>
      {isSet ? t('secret.keep') : t('button.cancel')}
    </button>
  );
  if (typeof value === 'string') {
    return (
      <span class="secret">
        <input
          id={id}
          type="password"
          autocomplete="new-password"
          aria-invalid={isFaulty}
          aria-describedby={describedBy}
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
        {leave}
      </span>
    );
  }
  return (
    <span class="secret">
      <span class="tag">
        {value === null ? t('secret.removed') : isSet ? t('value.set') : t('value.notSet')}
      </span>
      {value === null ? (
        leave
      ) : (
        <>
          <button
            type="button"
            id={id}
            aria-label={t(isSet ? 'secret.replaceOf' : 'secret.setOf', { field: label })}
            aria-describedby={describedBy}
            onClick={() => onChange('')}
          >
            {isSet ? t('secret.replace') : t('secret.set')}
          </button>
          {isSet && !isRequired ? (
            <button
              type="button"
              aria-label={t('secret.removeOf', { field: label })}
              onClick={() => onChange(null)}
            >
              {t('secret.remove')}
            </button>
          ) : null}
        </>
      )}
    </span>
  );
}
