import { LineText } from '../parts/text.js';
import { t } from '../texts/text.js';
import type { ChangedField } from './changes.js';

/** Changed fields with their values before and after. */
export function ChangesList({
  changes,
  label,
}: {
  changes: readonly ChangedField[];
  label: string;
}) {
  return (
    <ul class="changes" aria-label={label}>
      {changes.map(({ path, was, is }) => (
        <li key={path} data-change={path}>
          <code>
            <LineText text={path.replace(/^config\./, '')} />
          </code>
          <Value text={was} name="was" />
          <span aria-hidden="true">→</span>
          <Value text={is} name="is" />
        </li>
      ))}
    </ul>
  );
}

function Value({ text, name }: { text: string | null; name: 'was' | 'is' }) {
  const Mark = name === 'was' ? 'del' : 'ins';
  return (
    <Mark>
      <span class="unseen">{t(`value.${name}`)}: </span>
      {text === null ? (
        <span class="muted">{t('value.none')}</span>
      ) : text === '' ? (
        <span class="muted">{t('value.empty')}</span>
      ) : (
        <LineText text={text} />
      )}
    </Mark>
  );
}
