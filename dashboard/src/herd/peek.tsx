import { useContext } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { bots, botsVersion, lastLines, linesVersion } from '../model/live.js';
import { NEVER, useThrottled } from '../model/throttle.js';
import { age, clockTime, second, span } from '../model/time.js';
import { Labels } from '../parts/labels.js';
import { NextTry } from '../parts/next-try.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { currentError } from '../parts/tone.js';
import { t } from '../texts/text.js';
import { UNKNOWN } from './cells.js';
import type { Box } from './layout.js';
import { CellStatus } from './legend.js';
import { herdBots } from './past.js';
import { Source } from './source.js';

const REDRAW_MS = 300;
const WIDTH = 320;
const GAP = 10;
/** Fields of a bot's data that are shown, and characters of each. */
const MAX_FIELDS = 6;
const MAX_CHARS = 60;
const MAX_LABELS = 3;

interface Props {
  id: string;
  status: string;
  /** Of its cell, in the herd. */
  cell: Box;
  /** Width of the herd. */
  width: number;
}

/** The bot of a cell, described beside it. Screen readers get the same from the table. */
export function Peek({ id, status, cell, width }: Props) {
  const own = Math.min(WIDTH, width);
  const isRight = cell.x + cell.width + GAP + own <= width;
  const isLeft = !isRight && cell.x - GAP - own >= 0;
  const left = isRight
    ? cell.x + cell.width + GAP
    : isLeft
      ? cell.x - GAP - own
      : Math.max(0, Math.min(width - own, cell.x + cell.width / 2 - own / 2));
  // Beside the cell, or below it where there is no room.
  const top = isRight || isLeft ? cell.y - 6 : cell.y + cell.height + GAP;
  return (
    <div
      class="peek"
      aria-hidden="true"
      style={{
        width: `${own}px`,
        transform: `translate(${Math.round(left)}px, ${Math.round(top)}px)`,
      }}
    >
      <div class="peek-head">
        <strong>{id}</strong>
        <CellStatus status={status} />
      </div>
      <Facts id={id} status={status} />
    </div>
  );
}

/** Nothing of a bot that was deleted. */
function Facts({ id, status }: Pick<Props, 'id' | 'status'>) {
  const source = useContext(Source);
  useThrottled(source.version, REDRAW_MS);
  useThrottled(source.moment.value === undefined ? botsVersion : NEVER, REDRAW_MS);
  useThrottled(linesVersion, REDRAW_MS);
  void second.value;
  const moment = source.moment.value;
  const bot = moment === undefined ? bots.get(id) : herdBots().get(id);
  if (!bot) return null;
  const line = moment === undefined ? lastLines.get(id) : undefined;
  const error = currentError(bot.status, bot.last_error);
  const fields = Object.entries(bot.data);
  return (
    <>
      <p class="muted">
        {bot.kind}
        {bot.host === null ? '' : `, ${t('herd.host', { host: String(bot.host) })}`}
        {bot.node === undefined ? '' : ` ${t('peek.ofNode', { node: bot.node })}`}
        {status === UNKNOWN
          ? ''
          : `, ${t('peek.for', { time: moment === undefined ? age(bot.since_ms) : span(moment - bot.since_ms) })}`}
        {bot.restarts > 0 ? `, ${t('herd.restarts', { n: bot.restarts })}` : ''}
      </p>
      {Object.keys(bot.labels).length > 0 ? <Labels labels={bot.labels} most={MAX_LABELS} /> : null}
      {moment === undefined ? <NextTry bot={bot} /> : null}
      {error === null ? null : (
        <p class="peek-error">
          <LineText text={error} />
        </p>
      )}
      {line === undefined ? null : (
        <p class="peek-line">
          <span class="muted">{clockTime(line.at).slice(0, 8)} </span>
          {line.level === 'info' ? null : <Level level={line.level} />}{' '}
          <LineText text={line.text} />
        </p>
      )}
      {fields.length === 0 ? null : (
        <dl class="peek-data">
          {fields.slice(0, MAX_FIELDS).map(([name, value]) => (
            <div key={name}>
              <dt>{visible(name)}</dt>
              <dd>{short(value)}</dd>
            </div>
          ))}
          {fields.length > MAX_FIELDS ? (
            <div>
              <dt class="muted">{t('count.more', { n: fields.length - MAX_FIELDS })}</dt>
            </div>
          ) : null}
        </dl>
      )}
    </>
  );
}

function short(value: unknown): string {
  const text = visible(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
