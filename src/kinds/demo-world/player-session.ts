// Runs in the demo world's thread. Owns one TCP connection: login, tutorial, and then a player in the world.

import type { Socket } from 'node:net';
import { LineSplitter } from '../../bot-sdk/line-splitter.js';
import { messageOf } from '../../shared/errors.js';
import type { Tickets } from './http-login.js';
import { MAX_LINE_BYTES, parse, type WorldMessage } from './protocol.js';
import { lineOf, type Occupant, type Room, type Rooms } from './room.js';
import { SHEPHERD } from './shepherd.js';

/** Shared by all sessions. */
export interface World {
  readonly tickets: Tickets;
  readonly rooms: Rooms;
  /** Everyone who is logged in, in the tutorial too, by name. */
  readonly players: Map<string, Session>;
  /** Size at which `players` is full; a `Login` beyond it is refused. */
  readonly maxPlayers: number;
  /** Milliseconds from connecting to `Login`, after which the connection is closed. */
  readonly loginWithinMs: number;
}

/** A player is disconnected when more than this waits to be read by it. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** How long a client has to read its last lines before the connection is cut. */
const LINGER_MS = 2_000;

const GRID = 100;
const WHOLE_NUMBER = /^\d{1,9}$/;
const MAX_SAY_UNITS = 200;

/** Each step waits for the client's message of the name `answer`. */
const TUTORIAL = [
  { answer: 'Look', text: 'Look around: send Look.' },
  { answer: 'Move', text: `Take a step: send Move with x and y from 0 to ${GRID - 1}.` },
  { answer: 'Say', text: 'Say hello: send Say with a text. Nobody hears it yet.' },
] as const;

type Stage =
  | { at: 'login' }
  | { at: 'tutorial'; step: number }
  | { at: 'world'; room: Room }
  | { at: 'gone' };

/** A session takes part from its construction until its socket closes. */
export class Session implements Occupant {
  /** Empty until the login. */
  name = '';
  readonly #socket: Socket;
  readonly #world: World;
  readonly #splitter = new LineSplitter(MAX_LINE_BYTES);
  #stage: Stage = { at: 'login' };
  #deadline: NodeJS.Timeout;
  #x = Math.floor(Math.random() * GRID);
  #y = Math.floor(Math.random() * GRID);

  constructor(socket: Socket, world: World) {
    this.#socket = socket;
    this.#world = world;
    this.#deadline = setTimeout(() => this.#refuse('no login in time'), world.loginWithinMs);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('end', () => this.#end());
    socket.on('close', () => {
      clearTimeout(this.#deadline);
      this.#leave();
    });
    // A reset is a way to leave; 'close' follows.
    socket.on('error', () => {});
  }

  write(line: Buffer): void {
    if (!this.#socket.writable) return;
    this.#socket.write(line);
    // destroy() reports 'close' later, so nobody leaves a room in the middle of its broadcast.
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) this.#socket.destroy();
  }

  #send(name: string, attributes: Record<string, string | number> = {}): void {
    this.write(lineOf(message(name, attributes)));
  }

  /** Sends the reason and closes the connection. */
  #refuse(why: string): void {
    this.#send('Error', { message: why });
    this.#end();
  }

  /** Closes the connection after everything written so far is sent. */
  #end(): void {
    this.#leave();
    this.#socket.end();
    // Not cut at once: data that is still unread would turn the end into a reset, and the client would not see why.
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#socket.destroy(), LINGER_MS);
  }

  #leave(): void {
    const stage = this.#stage;
    this.#stage = { at: 'gone' };
    if (stage.at === 'tutorial' || stage.at === 'world') this.#world.players.delete(this.name);
    if (stage.at === 'world') {
      this.#world.rooms.leave(stage.room, this);
      stage.room.broadcast(message('Left', { name: this.name }));
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#stage.at === 'gone') return;
    let lines: string[];
    try {
      lines = this.#splitter.push(chunk);
    } catch (error) {
      this.#refuse(messageOf(error));
      return;
    }
    for (const line of lines) {
      // A bad line throws before it has any effect, and the client gets the message.
      try {
        this.#handle(parse(line));
      } catch (error) {
        if (this.#stage.at === 'login') this.#refuse(messageOf(error));
        else this.#send('Error', { message: messageOf(error) });
      }
    }
  }

  #handle({ name, attributes }: WorldMessage): void {
    const stage = this.#stage;
    if (stage.at === 'gone') return;
    if (stage.at === 'login') {
      if (name !== 'Login') throw new Error('Login must come first');
      this.#login(attributes);
    } else if (name === 'Ping') {
      this.#send('Pong');
    } else if (stage.at === 'tutorial') {
      this.#answerStep(stage.step, name, attributes);
    } else {
      this.#act(stage.room, name, attributes);
    }
  }

  #login({ name = '', ticket = '' }: Record<string, string>): void {
    const { tickets, players, maxPlayers } = this.#world;
    if (!tickets.redeem(ticket, name)) throw new Error('bad ticket');
    if (players.has(name) || name === SHEPHERD) throw new Error('name already in the world');
    if (players.size >= maxPlayers) throw new Error('the world is full');
    clearTimeout(this.#deadline);
    this.name = name;
    players.set(name, this);
    this.#send('Welcome', { name, x: this.#x, y: this.#y, players: players.size });
    this.#beginStep(0);
  }

  #beginStep(step: number): void {
    const lesson = TUTORIAL[step];
    if (lesson) {
      this.#stage = { at: 'tutorial', step };
      this.#send('TutorialStep', { step: step + 1, of: TUTORIAL.length, text: lesson.text });
      return;
    }
    const room = this.#world.rooms.join(this);
    this.#stage = { at: 'world', room };
    this.#send('TutorialDone');
    room.broadcast(message('Joined', { name: this.name }), this);
  }

  #answerStep(step: number, name: string, attributes: Record<string, string>): void {
    const answer = TUTORIAL[step]?.answer;
    if (name !== answer) throw new Error(`step ${step + 1} of the tutorial waits for ${answer}`);
    if (name === 'Move') this.#moveTo(attributes);
    if (name === 'Say') textOf(attributes);
    this.#beginStep(step + 1);
  }

  #act(room: Room, name: string, attributes: Record<string, string>): void {
    switch (name) {
      case 'Look':
        this.#send('Players', { names: room.names().join(','), count: this.#world.players.size });
        return;
      case 'Move':
        this.#moveTo(attributes);
        room.broadcast(message('Moved', { name: this.name, x: this.#x, y: this.#y }));
        return;
      case 'Say':
        room.broadcast(message('Chat', { from: this.name, text: textOf(attributes) }));
        return;
      default:
        throw new Error(`there is no ${name} in the world`);
    }
  }

  #moveTo(attributes: Record<string, string>): void {
    const x = coordinateOf(attributes.x);
    const y = coordinateOf(attributes.y);
    this.#x = x;
    this.#y = y;
  }
}

function message(name: string, attributes: Record<string, string | number>): WorldMessage {
  return {
    name,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([key, value]) => [key, String(value)]),
    ),
  };
}

/** @throws Error when it is no number or off the grid. */
function coordinateOf(text = ''): number {
  const coordinate = WHOLE_NUMBER.test(text) ? Number(text) : GRID;
  if (coordinate >= GRID) throw new Error(`x and y must be whole numbers from 0 to ${GRID - 1}`);
  return coordinate;
}

/** @throws Error when there is no text or it is too long. */
function textOf({ text = '' }: Record<string, string>): string {
  if (text === '' || text.length > MAX_SAY_UNITS) {
    throw new Error(`text must have 1 to ${MAX_SAY_UNITS} characters`);
  }
  return text;
}
