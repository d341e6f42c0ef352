// Owns the sheet that names all keys.

import { Dialog } from '../parts/dialog.js';
import { areKeysOn } from './key-setting.js';
import { allGroups, isHelpOpen } from './keys.js';

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
      {areKeysOn.value ? null : (
        <p class="help-note">Letters and signs are switched off in the settings.</p>
      )}
      <div class="dialog-body help-sheet">
        {allGroups().map(({ title, bindings }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {bindings.map(({ keys, does }) => (
                <div key={keys}>
                  <dt>
                    {(keys === ' ' ? [' '] : keys.split(' ')).map((key) => (
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
