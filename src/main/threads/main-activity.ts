// Runs in main. Owns the listener for messages of other threads: nearly all that main has to do comes in them.

let listener: () => void = () => {};

/** Calls `next` before each message of a thread is handled; it replaces the last one. */
export function watchMessages(next: () => void): void {
  listener = next;
}

/** To be called for each message of a thread. */
export function noteMessage(): void {
  listener();
}
