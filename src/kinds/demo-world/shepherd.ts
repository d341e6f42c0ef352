// Runs in the demo world's thread. Owns the Shepherd, who wanders through the rooms and says a line in each.

import type { Rooms } from './room.js';

/** No player can have this name. */
export const SHEPHERD = 'Shepherd';

const LINES = [
  'Has anyone seen a sheep with one black ear?',
  'The wind is turning. There will be rain before evening.',
  'Mind the gate, please. It does not close by itself.',
  'I counted them twice and got two numbers.',
  'A good dog is worth ten fences.',
  'Nice to see the meadow so busy.',
];

/** A round through all rooms is made in as many steps, so that thousands of players are not written to at once. */
const STEPS = 20;

/**
 * Visits every room once per round.
 * @param roundMs length of a round
 * @returns stops it
 */
export function startShepherd(rooms: Rooms, roundMs: number): () => void {
  let step = 0;
  const timer = setInterval(() => {
    const text = LINES[Math.floor(Math.random() * LINES.length)] ?? '';
    for (const room of rooms) {
      if (room.number % STEPS !== step % STEPS) continue;
      room.broadcast({ name: 'Chat', attributes: { from: SHEPHERD, text } });
    }
    step++;
  }, roundMs / STEPS).unref();
  return () => clearInterval(timer);
}
