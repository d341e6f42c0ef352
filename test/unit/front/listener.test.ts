import { describe, expect, it } from 'vitest';
import type { Engine, PreparedTls } from '../../../src/front/engine/engine.js';
import { Listener } from '../../../src/front/requests/listener.js';

/** Records what is called. Port 0 becomes 4000. */
class ModelEngine implements Engine {
  readonly calls: string[] = [];
  /** Thrown by the call of this name. */
  fails = '';

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    this.#call('listen', host, port, shared ? 'shared' : 'alone');
    return port === 0 ? 4000 : port;
  }

  stopListening(): void {
    this.#call('stop');
  }

  prepareTls({ cert }: { cert: string }): PreparedTls {
    this.#call('prepare', cert);
    return {
      commit: () => this.#call('commit', cert),
      rollback: () => this.#call('rollback', cert),
    };
  }

  close(): void {
    this.#call('close');
  }

  #call(...words: (string | number)[]): void {
    this.calls.push(words.join(' '));
    if (this.fails === words[0]) throw new Error(`${this.fails} failed`);
  }
}

function listening(reason?: string) {
  const engine = new ModelEngine();
  return { engine, listener: new Listener(engine, 'host', async () => reason) };
}

describe('listen', () => {
  it.each([
    ['alone', { shared: false, probe: true }, ['listen host 0 alone']],
    [
      'first of several',
      { shared: true, probe: true },
      ['listen host 0 alone', 'stop', 'listen host 4000 shared'],
    ],
    ['one more', { shared: true, probe: false }, ['listen host 0 shared']],
  ])('%s', async (_, how, calls) => {
    const { engine, listener } = listening();
    expect(await listener.listen({ port: 0, ...how })).toBe(4000);
    expect(listener.port).toBe(4000);
    expect(engine.calls).toEqual(calls);
  });

  it.each([
    ['the port is taken', 'the port is taken'],
    [undefined, 'listen failed'],
  ])('fails with the reason %j', async (reason, message) => {
    const { engine, listener } = listening(reason);
    engine.fails = 'listen';
    const attempt = listener.listen({ port: 1, shared: false, probe: true });
    await expect(attempt).rejects.toMatchObject({ code: 'internal', message });
  });
});

describe('TLS', () => {
  const files = (cert: string) => ({ cert, key: 'k' });

  it('commits what was prepared last, once', () => {
    const { engine, listener } = listening();
    listener.prepareTls(files('a'));
    listener.prepareTls(files('b'));
    listener.commitTls();
    listener.commitTls();
    listener.rollbackTls();
    expect(engine.calls).toEqual(['prepare a', 'rollback a', 'prepare b', 'commit b']);
  });

  it('rolls back, also at the end', () => {
    const { engine, listener } = listening();
    listener.prepareTls(files('a'));
    listener.rollbackTls();
    listener.prepareTls(files('b'));
    listener.close();
    expect(engine.calls).toEqual(['prepare a', 'rollback a', 'prepare b', 'rollback b', 'close']);
  });

  it.each(['prepare', 'commit'])('tells main why it failed to %s', (step) => {
    const { engine, listener } = listening();
    engine.fails = step;
    const attempt = (): void => {
      listener.prepareTls(files('a'));
      listener.commitTls();
    };
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'internal', message: `${step} failed` }),
    );
  });
});
