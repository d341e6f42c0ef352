import { LineText } from '../parts/text.js';
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
          <Value text={was} name="before" />
          <span aria-hidden="true">→</span>
          <Value text={is} name="now" />
        </li>
      ))}
    </ul>
  );
}

function Value({ text, name }: { text: string | null; name: 'before' | 'now' }) {
  const Mark = name === 'before' ? 'del' : 'ins';
  return (
    <Mark>
      <span class="unseen">{name}: </span>
      {text === null ? (
        <span class="muted">none</span>
      ) : text === '' ? (
        <span class="muted">empty</span>
      ) : (
        <LineText text={text} />
      )}
    </Mark>
  );
}
