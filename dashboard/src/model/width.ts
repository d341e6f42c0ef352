import { signal } from '@preact/signals';

const width = signal(window.innerWidth);
window.addEventListener('resize', () => {
  width.value = window.innerWidth;
});

/** In CSS px. */
export function useWidth(): number {
  return width.value;
}
