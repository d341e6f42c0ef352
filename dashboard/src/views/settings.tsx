import { DENSITIES, type Settings, set, settings, THEMES } from '../model/settings.js';
import { fullTime, second, serverNow } from '../model/time.js';
import { ViewHead } from '../parts/view-head.js';
import { t } from '../texts/text.js';

const THEME_NAMES = {
  system: 'settings.system',
  light: 'settings.light',
  dark: 'settings.dark',
} as const;
const DENSITY_NAMES = {
  comfortable: 'settings.comfortable',
  compact: 'settings.compact',
} as const;
const ZONES = Intl.supportedValuesOf('timeZone');

export function SettingsView() {
  const { theme, density, zone, keys } = settings.value;
  void second.value;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <>
      <ViewHead title={t('page.settings')} />
      <div class="page narrow">
        <Choice
          name="theme"
          title={t('settings.theme')}
          options={THEMES}
          value={theme}
          nameOf={(one) => t(THEME_NAMES[one])}
        />
        <Choice
          name="density"
          title={t('settings.density')}
          options={DENSITIES}
          value={density}
          nameOf={(one) => t(DENSITY_NAMES[one])}
        />
        <section class="card">
          <div class="field">
            <label for="zone">{t('settings.zone')}</label>
            <select
              id="zone"
              value={zone}
              onChange={({ currentTarget }) => set({ zone: currentTarget.value })}
            >
              <option value="">{t('settings.browserZone', { zone: own })}</option>
              <option value="UTC">UTC</option>
              {ZONES.filter((name) => name !== 'UTC').map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <p class="hint">{t('settings.now', { time: fullTime(serverNow()) })}</p>
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
            <label for="keys">{t('settings.keys')}</label>
            <p class="hint">{t('settings.keysHint')}</p>
          </div>
        </section>
        <p class="muted">{t('settings.where')}</p>
      </div>
    </>
  );
}

type Chosen = 'theme' | 'density';

interface ChoiceProps<K extends Chosen> {
  name: K;
  title: string;
  options: readonly Settings[K][];
  value: Settings[K];
  nameOf: (option: Settings[K]) => string;
}

function Choice<K extends Chosen>({ name, title, options, value, nameOf }: ChoiceProps<K>) {
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
            <span>{nameOf(option)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
