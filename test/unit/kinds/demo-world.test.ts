import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LineSplitter } from '../../../src/bot-sdk/line-splitter.js';
import { Tickets } from '../../../src/kinds/demo-world/http-login.js';
import {
  describe as describeMessage,
  encode,
  MAX_LINE_BYTES,
  parse,
  type WorldMessage,
} from '../../../src/kinds/demo-world/protocol.js';
import { ROOM_SIZE, Rooms } from '../../../src/kinds/demo-world/room.js';
import {
  type DemoWorld,
  type DemoWorldOptions,
  startDemoWorld,
} from '../../../src/kinds/demo-world/server.js';

/** Any text, lone surrogates, control characters and quotes among it. */
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);
const noNullPrototype = true;
const anyKey = fc.stringMatching(/^[a-z][a-z0-9_]{0,31}$/);
const anyMessage = fc.record(
  {
    name: fc.stringMatching(/^[A-Z][A-Za-z]{0,31}$/),
    attributes: fc.dictionary(anyKey, anyText, { noNullPrototype }),
  },
  { noNullPrototype },
);

describe('protocol', () => {
  it('encodes every message on one line and parses it back', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const line = encode(message);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that there are none is the point
        expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        expect(parse(line)).toStrictEqual(message);
        expect(parse(Buffer.from(line).toString())).toStrictEqual(message);
      }),
      { numRuns: 1_000 },
    );
  });

  it('leaves plain values bare and quotes the others', () => {
    const attributes = { step: '1', text: 'say "hi"\n', empty: '' };
    expect(encode({ name: 'Say', attributes })).toBe(
      String.raw`Say step=1 text="say \"hi\"\n" empty=""`,
    );
  });

  it.each([
    ['', 'the line does not begin with a message name'],
    ['login name=a', 'the line does not begin with a message name'],
    ['Login! name=a', 'the line does not begin with a message name'],
    ['Login name', 'no key=value at column 6'],
    ['Login name=', 'no key=value at column 6'],
    ['Login ', 'no key=value at column 6'],
    ['Login name=a b', 'no key=value at column 13'],
    ['Login name="a"b=c', 'no key=value at column 6'],
    ['Login name="a', 'no key=value at column 6'],
    ['Login name=a"b', 'no key=value at column 6'],
    ['Login __proto__=a', 'no key=value at column 6'],
    ['Login name=a name=b', 'name is given twice'],
    [String.raw`Login name="\x"`, 'the value of name is not a JSON string'],
    ['Login name="a\tb"', 'the value of name is not a JSON string'],
  ])('does not take %j', (line, fault) => {
    expect(() => parse(line)).toThrow(new Error(fault));
  });

  it('throws only errors of one short line, on any input', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const line of [text, `Login ${text}`, `Login name="${text}"`]) {
          try {
            parse(line);
          } catch (error) {
            expect((error as Error).message).toMatch(/^[\x20-\x7e]{1,100}$/);
          }
        }
      }),
    );
  });

  it('does not encode a message that it would not parse', () => {
    expect(() => encode({ name: 'Say\nSay', attributes: {} })).toThrow('bad message name');
    expect(() => encode({ name: 'Say', attributes: { 'a b': '' } })).toThrow('bad attribute key');
    const text = 'x'.repeat(MAX_LINE_BYTES);
    expect(() => encode({ name: 'Say', attributes: { text } })).toThrow('longer than 4096 bytes');
  });

  it('describes a message without its secrets', () => {
    const attributes = { name: 'demo-1', ticket: 'abc', x: '1' };
    expect(describeMessage({ name: 'Login', attributes })).toBe(
      'Login{name="demo-1", ticket="***", x="1"}',
    );
    for (const key of ['ticket', 'password', 'token', 'secret', 'Token']) {
      expect(describeMessage({ name: 'Login', attributes: { [key]: 'abc' } })).not.toContain('abc');
    }
    expect(describeMessage({ name: 'Ping', attributes: {} })).toBe('Ping');
  });
});

describe('LineSplitter', () => {
  it('finds the same lines for any chunks', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const cutLines = fc.record({
      lines: fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n'))),
      cuts: fc.array(fc.nat({ max: 200 })),
    });
    fc.assert(
      fc.property(cutLines, ({ lines, cuts }) => {
        const bytes = Buffer.from(lines.map(([text, ending]) => text + ending).join(''));
        const splitter = new LineSplitter(MAX_LINE_BYTES);
        const found: string[] = [];
        let start = 0;
        for (const end of [...cuts.sort((a, b) => a - b), bytes.length]) {
          // A separate buffer, wiped afterwards, because the splitter must not keep it.
          const chunk = Uint8Array.from(bytes.subarray(start, end));
          found.push(...splitter.push(chunk));
          chunk.fill(0);
          start = Math.max(start, end);
        }
        expect(found).toEqual(lines.map(([text]) => text));
      }),
    );
  });

  it('accepts the longest line and no longer one, ended or not', () => {
    const longest = 'x'.repeat(MAX_LINE_BYTES);
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    expect(splitter.push(Buffer.from(`${longest}\r`))).toEqual([]);
    expect(splitter.push(Buffer.from(`\n${longest}\n`))).toEqual([longest, longest]);
    for (const rest of ['x', 'x\n', '\rx']) {
      expect(() => new LineSplitter(MAX_LINE_BYTES).push(Buffer.from(longest + rest))).toThrow(
        '4096 bytes',
      );
    }
  });
});

describe('Tickets', () => {
  it('are valid once, for one name and for 30 seconds', () => {
    let now = 0;
    const tickets = new Tickets(() => now);
    const issue = () => tickets.issue('a') ?? '';
    const [first, second, third, fourth] = [issue(), issue(), issue(), issue()];
    expect(tickets.redeem(first, 'a')).toBe(true);
    expect(tickets.redeem(first, 'a')).toBe(false);
    expect(tickets.redeem(second, 'b')).toBe(false);
    expect(tickets.redeem(second, 'a')).toBe(false);
    now = 29_999;
    expect(tickets.redeem(third, 'a')).toBe(true);
    now = 30_000;
    expect(tickets.redeem(fourth, 'a')).toBe(false);
  });

  it('are bounded in number until the oldest expire', () => {
    let now = 0;
    const tickets = new Tickets(() => now);
    for (let count = 0; count < 20_000; count++) tickets.issue('a');
    expect(tickets.issue('a')).toBeUndefined();
    now = 30_000;
    expect(tickets.issue('a')).toBeDefined();
  });
});

describe('Rooms', () => {
  it('fills a room, opens another, and closes the one that is empty', () => {
    const rooms = new Rooms();
    const occupant = (name: string) => ({ name, write() {} });
    const joined = Array.from({ length: ROOM_SIZE + 1 }, (_, index) => {
      const player = occupant(`p${index}`);
      return { player, room: rooms.join(player) };
    });
    expect([...rooms].map((room) => room.size)).toEqual([ROOM_SIZE, 1]);
    const [first, last] = [joined[0], joined.at(-1)];
    if (!first || !last) throw new Error('nobody joined');
    rooms.leave(last.room, last.player);
    expect([...rooms].map((room) => room.size)).toEqual([ROOM_SIZE]);
    rooms.leave(first.room, first.player);
    expect(rooms.join(occupant('next'))).toBe(first.room);
  });
});

/** A client of the TCP port that hands out what it receives in order. */
class Client {
  readonly socket: Socket;
  readonly #splitter = new LineSplitter(MAX_LINE_BYTES);
  readonly #received: WorldMessage[] = [];
  #wake = () => {};
  closed = false;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk) => {
      this.#received.push(...this.#splitter.push(chunk).map(parse));
      this.#wake();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
      this.#wake();
    });
  }

  send(name: string, attributes: Record<string, string> = {}): void {
    this.socket.write(`${encode({ name, attributes })}\n`);
  }

  /** The next message as its display line, or 'closed'. */
  async next(): Promise<string> {
    for (;;) {
      const message = this.#received.shift();
      if (message) return describeMessage(message);
      if (this.closed) return 'closed';
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Skips messages up to the first whose display line begins with this. */
  async until(start: string): Promise<string> {
    let line = await this.next();
    while (!line.startsWith(start) && line !== 'closed') line = await this.next();
    return line;
  }
}

/** Longer than any test: the Shepherd says nothing in between. */
const NEVER_MS = 1e9;

describe('server', () => {
  let world: DemoWorld;
  let clients: Client[];

  beforeEach(async () => {
    clients = [];
    world = await startDemoWorld({ shepherdRoundMs: NEVER_MS });
  });

  afterEach(async () => {
    await world.close();
    for (const client of clients) client.socket.destroy();
  });

  async function restart(options: DemoWorldOptions): Promise<void> {
    await world.close();
    world = await startDemoWorld(options);
  }

  function post(body: string): Promise<Response> {
    return fetch(`${world.httpUrl}/login`, { method: 'POST', body });
  }

  async function ticketFor(name: string): Promise<string> {
    const answer = (await (await post(JSON.stringify({ name }))).json()) as { ticket: string };
    return answer.ticket;
  }

  function open(): Client {
    const client = new Client(world.tcpPort);
    clients.push(client);
    return client;
  }

  async function login(name: string): Promise<Client> {
    const ticket = await ticketFor(name);
    const client = open();
    client.send('Login', { name, ticket });
    return client;
  }

  /** A client that is through the tutorial. */
  async function join(name: string): Promise<Client> {
    const client = await login(name);
    client.send('Look');
    client.send('Move', { x: '1', y: '2' });
    client.send('Say', { text: 'hello' });
    expect(await client.until('TutorialDone')).toBe('TutorialDone');
    return client;
  }

  it('gives a ticket over HTTP', async () => {
    const response = await post('{"name":"demo-1"}');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      ticket: expect.stringMatching(/^[\w-]{32}$/),
      host: '127.0.0.1',
      port: world.tcpPort,
    });
  });

  it.each([
    ['', 'the request body is not JSON'],
    ['null', 'name must be'],
    ['{}', 'name must be'],
    ['{"name":7}', 'name must be'],
    ['{"name":"a,b"}', 'name must be'],
    [`{"name":"${'x'.repeat(2000)}"}`, 'the request body is too large'],
  ])('answers 400 to bad body %#', async (body, fault) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringContaining(fault) });
  });

  it('answers 404 and 405 to the rest', async () => {
    expect((await fetch(`${world.httpUrl}/other`, { method: 'POST' })).status).toBe(404);
    const response = await fetch(`${world.httpUrl}/login`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  it('leads through the tutorial, unheard by others', async () => {
    const other = await join('other');
    const client = await login('demo-1');
    expect(await client.next()).toMatch(
      /^Welcome\{name="demo-1", x="\d{1,2}", y="\d{1,2}", players="2"\}$/,
    );
    expect(await client.next()).toMatch(/^TutorialStep\{step="1", of="3", text="Look around/);
    client.send('Say', { text: 'too early' });
    expect(await client.next()).toBe('Error{message="step 1 of the tutorial waits for Look"}');
    client.send('Ping');
    expect(await client.next()).toBe('Pong');
    client.send('Look');
    expect(await client.next()).toMatch(/^TutorialStep\{step="2", of="3", text="Take a step/);
    client.send('Move', { x: '100', y: '0' });
    expect(await client.next()).toMatch(/^Error\{/);
    client.send('Move', { x: '99', y: '0' });
    expect(await client.next()).toMatch(/^TutorialStep\{step="3", of="3", text="Say hello/);
    client.send('Say', { text: 'hello' });
    expect(await client.next()).toBe('TutorialDone');
    expect(await other.next()).toBe('Joined{name="demo-1"}');
  });

  it('lets players move, look and chat', async () => {
    const [a, b] = [await join('a'), await join('b')];
    expect(await a.next()).toBe('Joined{name="b"}');
    a.send('Move', { x: '0', y: '99' });
    b.send('Say', { text: 'a "quoted" ünïcode\nline' });
    for (const player of [a, b]) {
      const heard = [await player.next(), await player.next()].sort();
      expect(heard).toEqual([
        String.raw`Chat{from="b", text="a \"quoted\" ünïcode\nline"}`,
        'Moved{name="a", x="0", y="99"}',
      ]);
    }
    a.send('Look');
    expect(await a.next()).toBe('Players{names="a,b", count="2"}');
  });

  it('sends a player the error and stays connected', async () => {
    const client = await join('a');
    const wrong: [string, Record<string, string>][] = [
      ['Move', { x: '-1', y: '0' }],
      ['Move', { x: '0', y: '100' }],
      ['Move', { x: '1.5', y: '0' }],
      ['Move', {}],
      ['Say', { text: 'x'.repeat(201) }],
      ['Say', {}],
      ['Fly', {}],
      ['Login', { name: 'a', ticket: '' }],
    ];
    for (const [name, attributes] of wrong) {
      client.send(name, attributes);
      expect(await client.next()).toMatch(/^Error\{message="/);
    }
    client.socket.write('no message\r\n');
    expect(await client.next()).toMatch(/^Error\{message="the line does not begin/);
    client.send('Ping');
    expect(await client.next()).toBe('Pong');
  });

  it('refuses a bad ticket, a used one, and one of another name', async () => {
    const ticket = await ticketFor('a');
    const another = await ticketFor('b');
    const refused = async (attributes: Record<string, string>) => {
      const client = open();
      client.send('Login', attributes);
      expect(await client.next()).toBe('Error{message="bad ticket"}');
      expect(await client.next()).toBe('closed');
    };
    await refused({ name: 'a', ticket: 'guessed' });
    await refused({ name: 'a' });
    await refused({ name: 'a', ticket: another });
    const client = open();
    client.send('Login', { name: 'a', ticket });
    expect(await client.next()).toMatch(/^Welcome/);
    await refused({ name: 'a', ticket });
  });

  it('accepts no other message before the login', async () => {
    const client = open();
    client.send('Ping');
    client.send('Ping');
    expect(await client.next()).toBe('Error{message="Login must come first"}');
    expect(await client.next()).toBe('closed');
  });

  it('closes a connection that does not log in', async () => {
    await restart({ loginWithinMs: 50 });
    const client = open();
    expect(await client.next()).toBe('Error{message="no login in time"}');
    expect(await client.next()).toBe('closed');
  });

  it('refuses a name that is in the world, until it has left', async () => {
    const client = await login('a');
    await client.until('Welcome');
    for (const name of ['a', 'Shepherd']) {
      const second = await login(name);
      expect(await second.next()).toBe('Error{message="name already in the world"}');
      expect(await second.next()).toBe('closed');
    }
    client.socket.end();
    expect(await client.until('closed')).toBe('closed');
    await join('a');
  });

  it('refuses more players than it has room for', async () => {
    await restart({ maxPlayers: 1 });
    await join('a');
    const second = await login('b');
    expect(await second.next()).toBe('Error{message="the world is full"}');
  });

  it('closes a connection that sends too long a line, and notifies the others', async () => {
    const [a, b] = [await join('a'), await join('b')];
    await a.until('Joined');
    b.socket.write('x'.repeat(10 * MAX_LINE_BYTES));
    expect(await b.next()).toBe('Error{message="a line is longer than 4096 bytes"}');
    expect(await b.next()).toBe('closed');
    expect(await a.next()).toBe('Left{name="b"}');
  });

  it('notifies the others of a player that leaves in any way', async () => {
    const a = await join('a');
    for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const b = await join('b');
      expect(await a.next()).toBe('Joined{name="b"}');
      b.socket[leave]();
      expect(await a.next()).toBe('Left{name="b"}');
    }
  });

  it('disconnects a player that does not read', async () => {
    const [deaf, talker] = [await join('deaf'), await join('talker')];
    deaf.socket.pause();
    const lines = Buffer.from(`Say text="${'\\u0001'.repeat(200)}"\n`.repeat(100));
    let left = false;
    const leaving = talker.until('Left').then((line) => {
      left = true;
      return line;
    });
    // The size of the kernel's buffers is not known.
    while (!left) {
      if (!talker.socket.write(lines)) await once(talker.socket, 'drain');
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await leaving).toBe('Left{name="deaf"}');
    talker.send('Look');
    expect(await talker.until('Players')).toBe('Players{names="talker", count="1"}');
  });

  it('has a Shepherd who talks to every player', async () => {
    await restart({ shepherdRoundMs: 40 });
    const client = await join('a');
    expect(await client.next()).toMatch(/^Chat\{from="Shepherd", text="/);
  });

  it('refuses to listen on other addresses than loopback', async () => {
    await expect(startDemoWorld({ host: '0.0.0.0' })).rejects.toThrow('loopback only');
  });

  it('disconnects everyone when it closes', async () => {
    const client = await join('a');
    const idle = open();
    await once(idle.socket, 'connect');
    await world.close();
    expect(await client.until('closed')).toBe('closed');
    expect(await idle.until('closed')).toBe('closed');
    await expect(post('{"name":"a"}')).rejects.toThrow();
  });
});
