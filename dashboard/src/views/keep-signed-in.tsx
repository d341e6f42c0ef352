import { t } from '../texts/text.js';

export function KeepSignedIn({
  isKept,
  onChange,
}: {
  isKept: boolean;
  onChange: (isKept: boolean) => void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isKept}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {t('signIn.keep')}
    </label>
  );
}
