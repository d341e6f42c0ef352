// A new certificate is used by all fronts or by none. The fronts are models: one that cannot read what the others can cannot be
// produced on purpose.

import { describe, expect, it } from 'vitest';
import { changeTls, type TlsUser } from '../../../src/main/environment/tls-change.js';

type Fault = 'prepare' | 'commit' | 'hangs' | 'hangs in commit' | null;

/** A front that records what it uses. */
class Model {
  current = 'old';
  #prepared: string | undefined;
  readonly user: TlsUser;

  constructor(name: string, files: () => string, fails: Fault = null) {
    this.user = {
      name,
      prepare: async () => {
        await Promise.resolve();
        if (fails === 'hangs') await new Promise(() => {});
        if (fails === 'prepare') throw new Error('it cannot be read');
        this.#prepared = files();
      },
      commit: async () => {
        await Promise.resolve();
        const prepared = this.#prepared;
        this.#prepared = undefined;
        if (fails === 'hangs in commit') await new Promise(() => {});
        if (fails === 'commit') throw new Error('the port has gone');
        this.current = prepared ?? 'nothing';
      },
      rollback: async () => {
        await Promise.resolve();
        this.#prepared = undefined;
      },
    };
  }

  get isWaiting(): boolean {
    return this.#prepared !== undefined;
  }
}

const fronts = (fails: Fault[], files = (): string => 'new'): Model[] =>
  fails.map((how, at) => new Model(`front ${at}`, files, how));
const users = (models: Model[]): TlsUser[] => models.map(({ user }) => user);

describe('a new certificate', () => {
  it('is used by all', async () => {
    const models = fronts([null, null, null]);
    await changeTls(users(models), () => 'digest');
    expect(models.map(({ current }) => current)).toEqual(['new', 'new', 'new']);
  });

  it.each([0, 1, 2])('that front %d cannot read is used by none', async (bad) => {
    const models = fronts([0, 1, 2].map((at) => (at === bad ? 'prepare' : null)));
    await expect(changeTls(users(models), () => 'digest')).rejects.toThrow(
      /^certificate and key stay as they were: it cannot be read$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['old', 'old', 'old']);
    // Nothing stays prepared.
    expect(models.map(({ isWaiting }) => isWaiting)).toEqual([false, false, false]);
  });

  it('that cannot be used at all is given to no front', async () => {
    const models = fronts([null, null], () => expect.unreachable('it was read'));
    const check = (): string => {
      throw new Error('the files do not belong together');
    };
    await expect(changeTls(users(models), check)).rejects.toThrow(/: the files do not belong/);
    expect(models.map(({ current }) => current)).toEqual(['old', 'old']);
  });

  it('that is replaced while the fronts read it is used by none', async () => {
    let digests = 0;
    const models = fronts([null, null]);
    await expect(changeTls(users(models), () => `${digests++}`)).rejects.toThrow(
      /the files were changed while they were read$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['old', 'old']);
    expect(models.map(({ isWaiting }) => isWaiting)).toEqual([false, false]);
  });

  it('that a front fails to commit is reported by name', async () => {
    const models = fronts([null, 'commit', null]);
    await expect(changeTls(users(models), () => 'digest')).rejects.toThrow(
      /^certificate and key stay as they were in front 1 \(the port has gone\)$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['new', 'old', 'new']);
  });

  it('that a front does not prepare in time is used by none, and the next change is not held up', async () => {
    const models = fronts([null, 'hangs', null]);
    await expect(changeTls(users(models), () => 'digest', undefined, 50)).rejects.toThrow(
      /^certificate and key stay as they were: front 1 does not answer$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['old', 'old', 'old']);
    expect(models.map(({ isWaiting }) => isWaiting)).toEqual([false, false, false]);
  });

  it('that a front does not commit in time is reported', async () => {
    const models = fronts([null, 'hangs in commit', null]);
    await expect(changeTls(users(models), () => 'digest', undefined, 50)).rejects.toThrow(
      /^certificate and key stay as they were in front 1 \(front 1 does not answer\)$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['new', 'old', 'new']);
  });
});
