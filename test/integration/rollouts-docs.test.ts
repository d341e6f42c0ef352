// The tutorial of docs/ROLLOUTS.md, typed as it is. Only ids differ.

import { it } from 'vitest';
import { commandsOf, docBlock, Reader } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';

it('a fleet of 50 in a file, a bad release, and the way back', async () => {
  const reader = new Reader(await freePort());
  reader.linkPackage();
  reader.write(docBlock('docs/ROLLOUTS.md', 'The first release'));
  reader.write(docBlock('docs/ROLLOUTS.md', '# traders.yaml'));
  const { service } = await reader.serve('--no-demo --kinds kinds');
  let id = '';
  const type = async (block: string): Promise<void> => {
    for (const { command, answer } of commandsOf(block)) {
      const shown = await reader.run(command.replace('0mwzpqikf-784c2e0f', id));
      expectLooksLike(shown, answer);
      [id = id] = /^0[0-9a-z]{8}-[0-9a-f]{8}/.exec(shown) ?? [];
    }
  };
  await type(docBlock('docs/ROLLOUTS.md', 'drover apply traders.yaml'));
  await reader.run('drover wait trader-50 --status trading');
  reader.write(docBlock('docs/ROLLOUTS.md', "new Error('the price"));
  await type(docBlock('docs/ROLLOUTS.md', 'drover rollout start trader --canary 5 ||'));
  reader.write(docBlock('docs/ROLLOUTS.md', 'default: 2'));
  await type(docBlock('docs/ROLLOUTS.md', 'drover rollout promote'));
  await service.interrupt();
  reader.remove();
});
