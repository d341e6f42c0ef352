import { Icon } from './icons.js';

interface Props {
  /** What it closes or removes. */
  name: string;
  class?: string;
  onClick: () => void;
}

export function CloseButton({ name, class: look = '', onClick }: Props) {
  return (
    <button
      type="button"
      class={`quiet square ${look}`}
      aria-label={name}
      title={name}
      onClick={onClick}
    >
      <Icon name="close" />
    </button>
  );
}
