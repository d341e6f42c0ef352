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
      Keep me signed in on this browser
    </label>
  );
}
