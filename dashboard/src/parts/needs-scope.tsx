import type { Scope } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/** Replaces controls that the token does not allow. @param to what they do. */
export function NeedsScope({ scope, to }: { scope: Scope; to: string }) {
  return <span class="muted">{t('scope.needed', { scope, to })}</span>;
}
