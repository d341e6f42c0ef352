// Runs in main. Owns where the lines of the access log go: standard output.

let isWatched = false;

/** Writes whole lines. Whoever read them may have gone: the service goes on without. */
export function writeAccessLog(text: string): void {
  if (!isWatched) process.stdout.on('error', () => {});
  isWatched = true;
  process.stdout.write(text);
}
