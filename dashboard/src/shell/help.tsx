import { settings } from '../model/settings.js';
import { Dialog } from '../parts/dialog.js';
import { allGroups, type Binding, isHelpOpen } from './keys.js';

const NAMES: Readonly<Record<string, string>> = {
  ' ': 'Space',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
};

export function HelpSheet() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keyboard" onClose={() => (isHelpOpen.value = false)} isWide>
      {settings.value.keys ? null : (
        <p class="help-note">Single-key shortcuts are off. You can turn them on in the settings.</p>
      )}
      <div class="dialog-body help-sheet">
        {allGroups().map(({ title, bindings }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {[...keysByAction(bindings)].map(([does, keys]) => (
                <div key={does}>
                  <dt>
                    {keys.map((key) => (
                      <kbd key={key}>{NAMES[key] ?? key}</kbd>
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

/** The keys of each action. A sequence such as `g b` is shown as its keys. */
function keysByAction(bindings: readonly Binding[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { keys, does } of bindings) {
    found.set(does, [...(found.get(does) ?? []), ...(keys === ' ' ? [' '] : keys.split(' '))]);
  }
  return found;
}
