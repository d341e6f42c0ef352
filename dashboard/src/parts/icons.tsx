/** Line icons on a 16 x 16 grid, in the colour of the text. */
const PATHS = {
  overview: 'M2 9h3l2-6 3 10 2-6 1 2h1',
  bots: 'M3 6.5h10v6H3zM8 6.5V4M6 9.4v.2M10 9.4v.2M8 3.2v.1',
  nodes: 'M5.5 2.5h5v3.5h-5zM2 10h4.5v3.5H2zM9.5 10H14v3.5H9.5zM8 6v2M4.2 10V8h7.6v2',
  log: 'M3 3.5h10M3 6.5h7M3 9.5h10M3 12.5h5',
  runs: 'M2.5 3v10M5.5 4.5h6v2.5h-6zM5.5 9h8v2.5h-8z',
  operations: 'M2.5 4h7M2.5 8h11M2.5 12h4M12 2.5l1.5 1.5L12 5.5M9 10.5l1.5 1.5L9 13.5',
  tokens: 'M7 9a3 3 0 1 1 1.8-1.8L13.5 12v1.5H11V12H9.5v-1.5z',
  settings: 'M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.4 3.4',
  start: 'M5 3.5v9l7.5-4.5z',
  stop: 'M4 4h8v8H4z',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.3h-2.4',
  delete: 'M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9M7 7v4M9 7v4',
  add: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  link: 'M6.5 9.5l3-3M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.2 9M9 11.5l-1.2 1.2a3 3 0 0 1-4.3-4.3L4.8 7',
  download: 'M8 2.5v7.5M5 7.5l3 3 3-3M3 13.5h10',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  follow: 'M4 3.5l4 4 4-4M4 8.5l4 4 4-4',
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  left: 'M10 4L6 8l4 4',
  out: 'M9 3.5h4v9H9M2.5 8h7M7 5.5L9.5 8 7 10.5',
  person: 'M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8zM3 13.5a5 5 0 0 1 10 0',
  help: 'M6 6a2 2 0 1 1 2.8 1.8c-.5.3-.8.7-.8 1.4M8 11.4v.2',
  warn: 'M8 2.5l6 11H2zM8 6.5v3M8 11.4v.2',
  incoming: 'M12.5 8h-9M7 4.5L3.5 8 7 11.5',
  outgoing: 'M3.5 8h9M9 4.5L12.5 8 9 11.5',
  edit: 'M3 13l.7-3L11 2.7 13.3 5 6 12.3z',
  saved: 'M4.5 2.5h7v11L8 10.5l-3.5 3z',
  command: 'M3 4.5l3.5 3.5L3 11.5M8 12h5',
  check: 'M3 8.5l3.5 3.5L13 4.5',
  pin: 'M5.5 2.5h5M6.5 2.5l-.5 5-2 2h8l-2-2-.5-5M8 9.5v4',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  clock: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 5v3.2l2 1.3',
  bell: 'M4 11V7.2a4 4 0 0 1 8 0V11l1.2 1.3H2.8zM6.8 14h2.4M8 3.2V2',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon: the text beside it, or the label of its button, carries the meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
