// Whether deleted bots can be brought back.

import { useEffect, useState } from 'preact/hooks';
import { asBefore } from '../model/actions.js';
import { may } from '../model/own-token.js';
import { api } from '../model/session.js';
import { type Specifications, specificationsOf } from '../model/specifications.js';
import { ACTION_MS } from '../parts/toasts.js';
import { t } from '../texts/text.js';

const NOTHING: Specifications = { known: new Map(), unknown: new Map() };

/** What these bots can be created from. The promise is for an action that does not wait for the drawing. */
export interface Known {
  now: Specifications | undefined;
  later: Promise<Specifications>;
}

/** @param ids are read once. @param isWanted false looks nothing up. */
export function useSpecifications(ids: readonly string[], isWanted: boolean): Known {
  const [later] = useState(() =>
    isWanted
      ? specificationsOf(
          [...asBefore(ids).values()],
          (id) => api().bots.config(id),
          may('admin'),
        ).catch(() => NOTHING)
      : Promise.resolve(NOTHING),
  );
  const [now, setNow] = useState<Specifications>();
  useEffect(() => {
    let isGone = false;
    void later.then((found) => !isGone && setNow(found));
    return () => {
      isGone = true;
    };
  }, [later]);
  return { now, later };
}

export function DeletionNote({ count, known: { now } }: { count: number; known: Known }) {
  const what = count === 1 ? t('deletion.one') : t('deletion.many');
  return (
    <p role="status">
      {what} {now ? textOf(now, count) : t('deletion.looking')}
    </p>
  );
}

function textOf({ known, unknown }: Specifications, count: number): string {
  const within = t('time.seconds', { n: ACTION_MS / 1000 });
  if (unknown.size === 0 && known.size > 0) {
    return t('deletion.undo', { time: within });
  }
  const [reason] = unknown.values();
  const why = reason === undefined ? '' : `: ${reason}`;
  if (known.size === 0) return t('deletion.noUndo', { why });
  return t('deletion.undoSome', { n: known.size, all: count, time: within, why });
}
