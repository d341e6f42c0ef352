// The example of docs/BOTS.md on a real ngIRCd. Only its address differs.

import { expect, it } from 'vitest';
import { commandsOf, docBlock, Reader } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';
import { startNgircd } from './ngircd.js';

it('docs/BOTS.md: a bot on an IRC server', async () => {
  const server = await startNgircd();
  try {
    const reader = new Reader(await freePort());
    await reader.serve('--no-demo');
    const commands = commandsOf(docBlock('docs/BOTS.md', '"id":"anna","kind":"irc"'));
    expect(commands).toHaveLength(3);
    for (const { command, answer } of commands) {
      const mine = command.replace('"nick":"anna"', `"port":${server.port},"nick":"anna"`);
      expectLooksLike(await reader.run(mine), answer.replace('irc.example', 'irc.test'));
      await reader.run('drover wait anna --status online');
    }
  } finally {
    await server.stop();
  }
});
