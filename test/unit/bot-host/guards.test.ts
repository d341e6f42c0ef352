import fs from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { guardDescriptors } from '../../../src/bot-host/guards.js';

it('a bot closes the files that it has opened, and no others', async () => {
  const files = { ...fs };
  const foreign = fs.openSync(import.meta.filename, 'r');
  guardDescriptors(files);
  const refused = `a bot must not close a file that it has not opened (descriptor ${foreign})`;
  expect(() => files.closeSync(foreign)).toThrow(refused);
  expect(() => files.close(foreign, () => {})).toThrow(refused);
  expect(fs.fstatSync(foreign).isFile()).toBe(true);
  fs.closeSync(foreign);
  const own = files.openSync(import.meta.filename, 'r');
  files.closeSync(own);
  expect(() => files.closeSync(own)).toThrow(refused.replace(String(foreign), String(own)));
  const later = await promisify(files.open)(import.meta.filename, 'r');
  await promisify(files.close)(later);
  expect(() => fs.fstatSync(later)).toThrow('EBADF');
  await expect(promisify(files.open)('/nowhere', 'r')).rejects.toThrow('ENOENT');
});
