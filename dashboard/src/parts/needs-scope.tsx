import type { Scope } from '../../../src/client/index.js';

/** In place of controls that the token does not allow. @param to what they do. */
export function NeedsScope({ scope, to }: { scope: Scope; to: string }) {
  return (
    <span class="muted">
      You need the scope “{scope}” to {to}.
    </span>
  );
}
