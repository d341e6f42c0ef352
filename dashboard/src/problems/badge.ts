// Runs in tabs. Owns the icon of the tab: with the number of rules that fire, it is drawn.

const SIZE = 32;
const MAX_SHOWN = 9;

let own: string | undefined;

/** Shows the number in the icon of the tab; 0 shows the icon as it is. */
export function showBadge(count: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  if (!link) return;
  own ??= link.href;
  const drawn = count > 0 ? draw(count) : undefined;
  link.href = drawn ?? own;
}

/** @returns undefined if the browser does not let pages read canvases. */
function draw(count: number): string | undefined {
  const canvas = document.createElement('canvas');
  canvas.width = SIZE;
  canvas.height = SIZE;
  const to = canvas.getContext('2d');
  if (!to) return undefined;
  to.fillStyle = '#0f766e';
  to.beginPath();
  to.roundRect(0, 0, SIZE, SIZE, 8);
  to.fill();
  to.fillStyle = '#b91c1c';
  to.beginPath();
  to.arc(SIZE / 2, SIZE / 2, 13, 0, 2 * Math.PI);
  to.fill();
  to.fillStyle = '#fff';
  to.font = 'bold 20px sans-serif';
  to.textAlign = 'center';
  to.textBaseline = 'middle';
  to.fillText(count > MAX_SHOWN ? `${MAX_SHOWN}+` : String(count), SIZE / 2, SIZE / 2 + 1);
  return canvas.toDataURL('image/png');
}
