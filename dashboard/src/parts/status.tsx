import { visible } from '../../../src/shared/contract/escapes.js';
import type { Line } from '../hub/messages.js';
import { SHAPES, toneOf } from './tone.js';

export function Status({ status }: { status: string }) {
  const tone = toneOf(status);
  return (
    <span class={`status tone-${tone}`}>
      <svg
        class={tone === 'off' ? 'shape hollow' : 'shape'}
        viewBox="0 0 16 16"
        width="12"
        height="12"
        aria-hidden="true"
      >
        <path d={SHAPES[tone]} />
      </svg>
      <span class="status-name">{visible(status)}</span>
    </span>
  );
}

const LEVEL_NAMES: Record<Line['level'], string> = {
  info: 'info',
  warn: 'warn',
  error: 'error',
  state: 'state',
  gap: 'gap',
};

export function Level({ level }: { level: Line['level'] }) {
  return <span class={`level level-${level}`}>{LEVEL_NAMES[level]}</span>;
}
