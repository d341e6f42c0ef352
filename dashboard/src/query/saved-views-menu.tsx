import { useState } from 'preact/hooks';
import { hrefTo, route } from '../model/route.js';
import { CloseButton } from '../parts/close-button.js';
import { Menu } from '../parts/menu.js';
import { say } from '../parts/toasts.js';
import { t } from '../texts/text.js';
import { MAX_NAME, removeView, type SavedView, savedViews, saveView } from './saved-views.js';

/** The saved views of the present view, and a form to save it as it is. */
export function SavedViewsMenu() {
  const [name, setName] = useState('');
  const { view, query } = route.value;
  const saved = savedViews.value.filter((one) => one.view === view);
  const save = (event: Event): void => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === '') return;
    const kept = new URLSearchParams(query);
    // A link to one line is not a view.
    for (const name of ['at', 'around']) kept.delete(name);
    const fault = saveView({ name: wanted, view, query: kept.toString() });
    say(fault ?? t('views.saved', { name: wanted }));
    setName('');
  };
  return (
    <Menu name={t('views.title')} icon="saved" class="saved-views">
      {(close) => (
        <>
          {saved.length === 0 ? <p class="muted">{t('views.none')}</p> : null}
          {saved.map((one) => (
            <Saved key={one.name} saved={one} onOpen={close} />
          ))}
          <form onSubmit={save}>
            <input
              aria-label={t('views.name')}
              placeholder={t('term.name')}
              maxLength={MAX_NAME}
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
            <button type="submit" disabled={name.trim() === ''}>
              {t('views.save')}
            </button>
          </form>
          <p class="muted">{t('views.where')}</p>
        </>
      )}
    </Menu>
  );
}

function Saved({ saved, onOpen }: { saved: SavedView; onOpen: () => void }) {
  const { name, view, query } = saved;
  return (
    <div class="saved-view">
      <a href={hrefTo(view, '', Object.fromEntries(new URLSearchParams(query)))} onClick={onOpen}>
        {name}
      </a>
      <CloseButton name={t('views.remove', { name })} onClick={() => removeView(saved)} />
    </div>
  );
}
