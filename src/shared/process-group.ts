// Runs in bot hosts, which import this before they take process.kill from bots (src/bot-host/guards.ts): a program leads a
// process group, and its signals go to the group.

const kill = process.kill.bind(process);

/** Sends a signal to all processes of a group. Does nothing when there are none. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    kill(-leader, signal);
  } catch {
    // The group has ended, or belongs to another user, as after a setuid program.
  }
}
