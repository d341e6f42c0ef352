// Runs in main. Owns the access log on standard output.

/** Bytes that wait for a slow reader. Lines above it are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

let isWatched = false;
let dropped = 0;

/** Writes whole lines. A reader that is gone or does not read has no effect on the service. */
export function writeAccessLog(text: string): void {
  const { stdout } = process;
  if (!isWatched) stdout.on('error', () => {}).on('drain', reportDropped);
  isWatched = true;
  if (stdout.writableLength + text.length > MAX_WAITING_BYTES) {
    dropped += text.split('\n').length - 1;
    return;
  }
  stdout.write(text);
}

function reportDropped(): void {
  if (dropped === 0) return;
  const lines = dropped;
  dropped = 0;
  process.stdout.write(`${new Date().toISOString()} ${lines} lines dropped: nobody read them\n`);
}
