// A reader of Prometheus' text format (0.0.4) that is as strict as promtool: promtool's warnings are errors here.

export interface Family {
  name: string;
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
}

const TYPES = ['counter', 'gauge', 'histogram'];
const NAME = /^[a-z][a-z0-9_]*[a-z0-9]$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
/** Units that are not base units, and words that belong to the type instead of the name. */
const UNWANTED =
  /_(ms|milliseconds|microseconds|minutes|hours|days|kb|mb|kilobytes|megabytes|percent|counter|gauge|histogram)(_|$)/;

/** All families by name. @throws Error that names the defect. */
export function readMetrics(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, Family>();
  const series = new Set<string>();
  let family: Family | undefined;
  let help: [name: string, text: string] | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '') continue;
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      if (rest === '') throw new Error(`${name} has no help`);
      help = [name, rest];
    } else if (keyword === 'TYPE') {
      if (help?.[0] !== name) throw new Error(`the type of ${name} does not follow its help`);
      if (!TYPES.includes(rest)) throw new Error(`${name} is of the type ${rest}`);
      family = { name, type: rest, help: help[1], samples: [] };
      families.set(name, family);
    } else if (line.startsWith('#')) {
      throw new Error(`a comment: ${line}`);
    } else {
      if (!family) throw new Error(`a sample before any type: ${line}`);
      const sample = readSample(line);
      if (!belongs(sample.name, family)) throw new Error(`${line} stands under ${family.name}`);
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
      if (series.has(key)) throw new Error(`${line} comes twice`);
      series.add(key);
      family.samples.push(sample);
    }
  }
  for (const one of families.values()) lint(one);
  return families;
}

function readSample(line: string): Family['samples'][number] {
  const [, name = '', labelText = '', valueText = ''] = SAMPLE.exec(line) ?? [];
  if (name === '') throw new Error(`not a sample: ${line}`);
  const value = valueText === '+Inf' ? Number.POSITIVE_INFINITY : Number(valueText);
  if (Number.isNaN(value)) throw new Error(`no number: ${line}`);
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let at = 0;
  while (at < labelText.length) {
    LABEL.lastIndex = at;
    const match = LABEL.exec(labelText);
    if (!match?.[1]) throw new Error(`labels cannot be read: ${line}`);
    if (match[1] in labels) throw new Error(`a label comes twice: ${line}`);
    labels[match[1]] = match[2] ?? '';
    at = LABEL.lastIndex;
  }
  return { name, labels, value };
}

function belongs(name: string, { name: family, type }: Family): boolean {
  if (type !== 'histogram') return name === family;
  return ['_bucket', '_sum', '_count'].some((end) => name === family + end);
}

function lint({ name, type, samples }: Family): void {
  if (!NAME.test(name)) throw new Error(`${name} is not a valid name`);
  if (UNWANTED.test(name))
    throw new Error(`${name} has not the base unit, or its type in its name`);
  if ((type === 'counter') !== name.endsWith('_total')) {
    throw new Error(`${name} is a ${type}: counters end in _total, and nothing else does`);
  }
  if (/_(count|sum|bucket)$/.test(name)) throw new Error(`${name} ends like a part of a histogram`);
  for (const { labels, value } of samples) {
    if (type !== 'histogram' && 'le' in labels) throw new Error(`${name} has a label le`);
    if (type === 'counter' && value < 0) throw new Error(`${name} is below 0`);
    const names = Object.keys(labels).filter((label) => label !== 'le');
    const first = Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== 'le');
    if (String(names) !== String(first)) throw new Error(`${name} has different labels`);
  }
  if (type === 'histogram') lintHistogram(name, samples);
}

function lintHistogram(name: string, samples: Family['samples']): void {
  const series = new Map<string, Family['samples']>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const list of series.values()) {
    const buckets = list.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) =>
      labels['le'] === '+Inf' ? Infinity : Number(labels['le']),
    );
    const counts = buckets.map(({ value }) => value);
    const count = list.find((sample) => sample.name === `${name}_count`)?.value;
    const rising = (values: number[]): boolean =>
      values.every((v, n) => n === 0 || v >= (values[n - 1] as number));
    if (bounds.at(-1) !== Infinity || !rising(bounds)) throw new Error(`${name}: bounds ${bounds}`);
    if (!rising(counts) || counts.at(-1) !== count)
      throw new Error(`${name}: counts ${counts}, ${count}`);
    if (!list.some((sample) => sample.name === `${name}_sum`))
      throw new Error(`${name} has no sum`);
  }
}
