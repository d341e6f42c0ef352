import { DENSITIES, type Settings, set, settings, THEMES } from '../model/settings.js';
import { fullTime, second, serverNow } from '../model/time.js';
import { ViewHead } from '../parts/view-head.js';

const NAMES = {
  system: 'System',
  light: 'Light',
  dark: 'Dark',
  spacious: 'Spacious',
  comfortable: 'Comfortable',
  compact: 'Compact',
  dense: 'Dense',
} as const;
const ZONES = Intl.supportedValuesOf('timeZone');

export function SettingsView() {
  const { theme, density, zone, keys } = settings.value;
  void second.value;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <>
      <ViewHead title="Settings" />
      <div class="page narrow">
        <Choice name="theme" title="Theme" options={THEMES} value={theme} />
        <Choice name="density" title="Density" options={DENSITIES} value={density} />
        <section class="card">
          <div class="field">
            <label for="zone">Time zone</label>
            <select
              id="zone"
              value={zone}
              onChange={({ currentTarget }) => set({ zone: currentTarget.value })}
            >
              <option value="">Browser time zone ({own})</option>
              <option value="UTC">UTC</option>
              {ZONES.filter((name) => name !== 'UTC').map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <p class="hint">Current time: {fullTime(serverNow())}</p>
          </div>
        </section>
        <section class="card">
          <div class="field switch">
            <input
              id="keys"
              type="checkbox"
              checked={keys}
              onChange={({ currentTarget }) => set({ keys: currentTarget.checked })}
            />
            <label for="keys">Single-key shortcuts</label>
            <p class="hint">
              Arrow keys, Enter, Escape and Tab always work. Open Keyboard to see all shortcuts.
            </p>
          </div>
        </section>
        <p class="muted">Settings are stored in this browser and apply to all tabs.</p>
      </div>
    </>
  );
}

interface ChoiceProps<K extends 'theme' | 'density'> {
  name: K;
  title: string;
  options: readonly Settings[K][];
  value: Settings[K];
}

function Choice<K extends 'theme' | 'density'>({ name, title, options, value }: ChoiceProps<K>) {
  return (
    <fieldset class="card choice">
      <legend>{title}</legend>
      <div class="segments">
        {options.map((option) => (
          <label key={option}>
            <input
              type="radio"
              name={name}
              checked={option === value}
              onChange={() => set({ [name]: option })}
            />
            <span>{NAMES[option]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
