// Where runs are opened: files are dropped on the page, or chosen.

import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../parts/icons.js';
import { rich, t } from '../texts/text.js';

interface Props {
  onFiles: (files: readonly { name: string; content: Blob }[]) => void;
  /** It is one button among others, not the whole page. */
  isSmall?: boolean;
}

export function DropZone({ onFiles, isSmall = false }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  // Anywhere on the page: a browser opens a file that misses a zone, and the page is gone.
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent): boolean =>
      dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      take(event.dataTransfer?.files);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  function take(files: FileList | null | undefined): void {
    const list = [...(files ?? [])].map((file) => ({ name: file.name, content: file }));
    if (list.length > 0) latest.current(list);
  }
  const choose = (
    <>
      <button type="button" onClick={() => input.current?.click()}>
        <Icon name="add" />
        {t('runs.openFiles')}
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t('runs.files')}
        onChange={({ currentTarget }) => {
          take(currentTarget.files);
          // The same file can be opened again.
          currentTarget.value = '';
        }}
      />
      {isOver ? (
        <div class="run-drop-over" aria-hidden="true">
          {t('runs.dropNow')}
        </div>
      ) : null}
    </>
  );
  if (isSmall) return choose;
  return (
    <div class={isOver ? 'run-drop is-over' : 'run-drop'}>
      <p>
        {rich('runs.drop', {
          record: <code>drover record</code>,
          check: <code>drover check</code>,
        })}
      </p>
      <p class="muted">{t('runs.dropHint')}</p>
      {choose}
    </div>
  );
}
