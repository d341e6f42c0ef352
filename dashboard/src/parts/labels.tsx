import { visible } from '../../../src/shared/contract/escapes.js';
import type { QueryUse } from '../../../src/shared/query/fields.js';
import { PickButton } from '../query/pick-button.js';
import { t } from '../texts/text.js';

interface LabelsProps {
  labels: Record<string, string>;
  /** The rest is only counted. */
  most?: number;
  /** A click adds the label to the query of the view, which is for these. */
  use?: QueryUse;
  /** A click leads there. */
  href?: (label: string) => string;
}

export function Labels({ labels, most, use, href }: LabelsProps) {
  const pairs = Object.entries(labels);
  if (pairs.length === 0) return null;
  const shown = pairs.slice(0, most);
  return (
    <span class="labels">
      {shown.map(([name, value]) => {
        const label = `${name}=${value}`;
        const text = visible(label);
        if (use) {
          return (
            <PickButton key={name} use={use} field="label" value={label} class="label" title={text}>
              {text}
            </PickButton>
          );
        }
        return href ? (
          <a key={name} class="label" title={text} href={href(label)}>
            {text}
          </a>
        ) : (
          <span key={name} class="label" title={text}>
            {text}
          </span>
        );
      })}
      {shown.length < pairs.length ? (
        <span class="label-more">+{pairs.length - shown.length}</span>
      ) : null}
    </span>
  );
}

/** One `name=value` per line. */
export function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

/** @throws Error that quotes the invalid line. */
export function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    if (at <= 0) throw new Error(t('labels.bad', { line: line.trim() }));
    labels[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return labels;
}

/** Three-way merge: applies the edits from `base` to `edited` to the current labels `now`. */
export function rebasedLabels(
  base: Readonly<Record<string, string>>,
  edited: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): Record<string, string> {
  const result = { ...now };
  for (const name of new Set([...Object.keys(base), ...Object.keys(edited)])) {
    const value = edited[name];
    if (value === base[name]) continue;
    if (value === undefined) delete result[name];
    else result[name] = value;
  }
  return result;
}
