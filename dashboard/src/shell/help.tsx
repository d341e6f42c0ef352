import { settings } from '../model/settings.js';
import { Dialog } from '../parts/dialog.js';
import { type PlainKey, t } from '../texts/text.js';
import { allGroups, type Binding, isHelpOpen } from './keys.js';

const ARROWS: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
};
const NAMES: Readonly<Record<string, PlainKey>> = {
  ' ': 'help.space',
  Escape: 'help.escape',
};

export function HelpSheet() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title={t('frame.keyboard')} onClose={() => (isHelpOpen.value = false)} isWide>
      {settings.value.keys ? null : <p class="help-note">{t('help.off')}</p>}
      <div class="dialog-body help-sheet">
        {allGroups().map(({ title, bindings }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {[...keysByAction(bindings)].map(([does, keys]) => (
                <div key={does}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{nameOf(key)}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function nameOf(key: string): string {
  const name = NAMES[key];
  return name ? t(name) : (ARROWS[key] ?? key);
}

/** The keys of each action. A sequence such as `g b` is shown as its keys. */
function keysByAction(bindings: readonly Binding[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { keys, does } of bindings) {
    found.set(does, [...(found.get(does) ?? []), ...(keys === ' ' ? [' '] : keys.split(' '))]);
  }
  return found;
}
