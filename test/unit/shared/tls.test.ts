// Run by vitest. A new certificate is used by all fronts or by none. The fronts are models: that one of several cannot read
// what the others can is not to be had on purpose.

import { describe, expect, it } from 'vitest';
import { changeTls, type TlsUser } from '../../../src/shared/tls.js';

type Fault = 'prepare' | 'apply' | 'hangs' | 'hangs at last' | null;

/** Fronts that note what becomes of them. */
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
      settle: async (apply) => {
        await Promise.resolve();
        const prepared = this.#prepared;
        this.#prepared = undefined;
        if (!apply) return;
        if (fails === 'hangs at last') await new Promise(() => {});
        if (fails === 'apply') throw new Error('the port has gone');
        this.current = prepared ?? 'nothing';
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
    // None keeps what it has read.
    expect(models.map(({ isWaiting }) => isWaiting)).toEqual([false, false, false]);
  });

  it('that cannot be used at all is shown to no front', async () => {
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

  it('that a front fails to change to at the last moment is told of, with its name', async () => {
    const models = fronts([null, 'apply', null]);
    await expect(changeTls(users(models), () => 'digest')).rejects.toThrow(
      /^certificate and key stay as they were in front 1 \(the port has gone\)$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['new', 'old', 'new']);
  });

  it('that a front does not answer about is used by none, and the next change is not held up', async () => {
    const models = fronts([null, 'hangs', null]);
    await expect(changeTls(users(models), () => 'digest', undefined, 50)).rejects.toThrow(
      /^certificate and key stay as they were: front 1 does not answer$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['old', 'old', 'old']);
    expect(models.map(({ isWaiting }) => isWaiting)).toEqual([false, false, false]);
  });

  it('that a front does not answer about at the last moment is told of', async () => {
    const models = fronts([null, 'hangs at last', null]);
    await expect(changeTls(users(models), () => 'digest', undefined, 50)).rejects.toThrow(
      /^certificate and key stay as they were in front 1 \(front 1 does not answer\)$/,
    );
    expect(models.map(({ current }) => current)).toEqual(['new', 'old', 'new']);
  });
});
