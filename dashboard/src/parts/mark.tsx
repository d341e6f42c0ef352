export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M10 11 16 21 22 11Z" />
      <circle cx="10" cy="11" r="3" />
      <circle cx="22" cy="11" r="3" />
      <circle cx="16" cy="21" r="3" />
    </svg>
  );
}
