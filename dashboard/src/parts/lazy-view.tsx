// Parts of the page that are loaded when they are shown first, or a while after the page: the first load is what every visit needs.

import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts/text.js';

/** How long the rest waits for a moment in which the page has nothing to do, in ms. */
const REST_AFTER_MS = 1500;

type Load<P> = () => Promise<ComponentType<P>>;

const all: (() => Promise<unknown>)[] = [];

/** @param load imports the component. @param placeholder is shown until then. */
export function lazyView<P extends object>(
  load: Load<P>,
  placeholder: VNode | null = null,
): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  const once = async (): Promise<void> => {
    loaded ??= await load();
  };
  all.push(once);
  return function LazyView(props: P) {
    const [, setDone] = useState(loaded !== undefined);
    const [isFailed, setFailed] = useState(false);
    useEffect(() => {
      // Also when it was loaded between this drawing and now: nothing else would draw it again.
      if (loaded) {
        setDone(true);
        return;
      }
      let isGone = false;
      once().then(
        () => !isGone && setDone(true),
        () => !isGone && setFailed(true),
      );
      return () => {
        isGone = true;
      };
    }, []);
    const View = loaded;
    if (View) return <View {...props} />;
    return isFailed ? <NotLoaded /> : placeholder;
  };
}

/** A restarted service may have another version of the page. */
function NotLoaded() {
  return (
    <div class="empty" role="alert">
      <p>{t('page.notLoaded')}</p>
      <button type="button" onClick={() => location.reload()}>
        {t('page.reload')}
      </button>
    </div>
  );
}

/** Loads all parts, one after the other, when the page has drawn what it opened with: so a view opens while the service is down. */
export function loadRest(): void {
  const load = async (): Promise<void> => {
    // One that fails is tried again when it is shown.
    for (const once of all) await once().catch(() => {});
  };
  // Not in Safari.
  if ('requestIdleCallback' in globalThis) requestIdleCallback(load, { timeout: REST_AFTER_MS });
  else setTimeout(load, REST_AFTER_MS);
}
