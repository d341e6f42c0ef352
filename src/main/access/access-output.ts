// Runs in main. Owns where the lines of the access log go: standard output.

/** What waits for whoever reads, at most, in bytes. Lines above it are left out and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

let isWatched = false;
let leftOut = 0;

/** Writes whole lines. Whoever read them may have gone, or not read: the service goes on without. */
export function writeAccessLog(text: string): void {
  const { stdout } = process;
  if (!isWatched) stdout.on('error', () => {}).on('drain', tellLeftOut);
  isWatched = true;
  if (stdout.writableLength + text.length > MAX_WAITING_BYTES) {
    leftOut += text.split('\n').length - 1;
    return;
  }
  stdout.write(text);
}

function tellLeftOut(): void {
  if (leftOut === 0) return;
  const lines = leftOut;
  leftOut = 0;
  process.stdout.write(
    `${new Date().toISOString()} ${lines} lines are left out: nobody read them\n`,
  );
}
