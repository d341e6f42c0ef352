// What the cells of a herd show. The herd of the overview is the one that is shown where no other is given.

import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { shownMoment } from '../model/time-range.js';
import { t } from '../texts/text.js';
import type { CellBot } from './cells.js';
import type { Grouping } from './grouping.js';
import { herdBots, herdHeld, herdVersion } from './past.js';

export interface HerdSource {
  title: () => string;
  bots: () => ReadonlyMap<string, CellBot>;
  /** Changes with the bots. */
  version: ReadonlySignal<unknown>;
  /** Keys of the hosts that hang. */
  held: ReadonlySignal<ReadonlySet<string>>;
  /** The moment that is shown; undefined for the present. */
  moment: ReadonlySignal<number | undefined>;
  /** Undefined: as the address says. */
  by?: Grouping;
}

export const Source = createContext<HerdSource>({
  title: () => t('herd.title'),
  bots: herdBots,
  version: herdVersion,
  held: herdHeld,
  moment: shownMoment,
});
