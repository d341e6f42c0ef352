import { allowNotifications, permission } from '../model/alerts.js';
import { set, settings } from '../model/settings.js';
import { Icon } from '../parts/icons.js';
import { t } from '../texts/text.js';

/** Switches notifications of the browser. It asks for the permission on a click, and never by itself. */
export function NotifyButton() {
  const { value: now } = permission;
  if (now === 'missing') {
    return <span class="muted">{t('alerts.notifyMissing')}</span>;
  }
  if (now === 'denied') {
    return <span class="muted">{t('alerts.notifyDenied')}</span>;
  }
  const isOn = now === 'granted' && settings.value.notify;
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={() => {
        if (isOn) set({ notify: false });
        else void allowNotifications();
      }}
    >
      <Icon name="bell" />
      {t(isOn ? 'alerts.notifyOn' : 'alerts.notify')}
    </button>
  );
}
