// Runs in the demo world's thread. Owns the rooms: who hears whom.
//
// In one room a crowd of n players who all talk costs n × n writes: 5,000 players would be 25 million for one line
// each. Rooms of at most 50 make a broadcast cost the same however many players there are. A player stays in the room
// that it was given when it joined, because one that changed rooms would seem to leave while it still plays.

import { encode, type WorldMessage } from './protocol.js';

/** Players per room. */
export const ROOM_SIZE = 50;

/** What a room needs of a player. `write` must neither throw nor let anyone leave before it has returned. */
export interface Occupant {
  readonly name: string;
  write(line: Buffer): void;
}

/** A message as the bytes of its line, ending included. */
export function lineOf(message: WorldMessage): Buffer {
  return Buffer.from(`${encode(message)}\n`);
}

export class Room {
  /** Counts up over all rooms there ever were. */
  readonly number: number;
  readonly #occupants = new Set<Occupant>();

  constructor(number: number) {
    this.number = number;
  }

  get size(): number {
    return this.#occupants.size;
  }

  names(): string[] {
    return Array.from(this.#occupants, (occupant) => occupant.name);
  }

  add(occupant: Occupant): void {
    this.#occupants.add(occupant);
  }

  delete(occupant: Occupant): void {
    this.#occupants.delete(occupant);
  }

  broadcast(message: WorldMessage, except?: Occupant): void {
    const line = lineOf(message);
    for (const occupant of this.#occupants) {
      if (occupant !== except) occupant.write(line);
    }
  }
}

/** All rooms that are not empty. */
export class Rooms implements Iterable<Room> {
  readonly #rooms = new Set<Room>();
  /** Rooms with space. The oldest fills up first, so that nobody plays alone for long. */
  readonly #open = new Set<Room>();
  #opened = 0;

  [Symbol.iterator](): Iterator<Room> {
    return this.#rooms.values();
  }

  join(occupant: Occupant): Room {
    const [room = this.#openAnother()] = this.#open;
    room.add(occupant);
    if (room.size >= ROOM_SIZE) this.#open.delete(room);
    return room;
  }

  leave(room: Room, occupant: Occupant): void {
    room.delete(occupant);
    if (room.size > 0) {
      this.#open.add(room);
    } else {
      this.#open.delete(room);
      this.#rooms.delete(room);
    }
  }

  #openAnother(): Room {
    const room = new Room(this.#opened++);
    this.#rooms.add(room);
    this.#open.add(room);
    return room;
  }
}
