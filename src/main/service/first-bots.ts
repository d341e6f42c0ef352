import type { BotSpec, CreateBotBody } from '../../shared/contract/bots.js';
import type { Config } from '../../shared/contract/config.js';
import { messageOf, StartupError } from '../../shared/errors.js';
import type { BotRegistry } from '../bots/registry.js';

/** The bots of the configuration and of the demo, which are created unless they are stored. @throws StartupError when one is invalid. */
export function firstBots({ bots, demo }: Config, registry: BotRegistry): CreateBotBody[] {
  const ids = new Set<string>();
  for (const bot of bots) {
    const { id } = bot;
    try {
      if (ids.has(id)) throw new Error('another bot has this id');
      ids.add(id);
      registry.check(bot);
    } catch (thrown) {
      throw new StartupError(`the configured bot ${JSON.stringify(id)}: ${messageOf(thrown)}`);
    }
  }
  const ofDemo = Array.from({ length: demo.enabled ? demo.bots : 0 }, (_, n) => demoBot(n + 1));
  return [...bots, ...ofDemo.filter(({ id }) => !ids.has(id))];
}

/** Why a stored bot whose desired state is `running` is not started; null when it is. */
export function restsAtStart({ kind, config }: BotSpec, { demo }: Config): string | null {
  const homeless = kind === 'demo' && !demo.enabled && config['world_url'] === undefined;
  return homeless ? 'not started: the service runs without the demo world' : null;
}

function demoBot(number: number): CreateBotBody {
  return {
    id: `demo-${number}`,
    kind: 'demo',
    config: {},
    labels: { demo: 'true' },
    dedicated: false,
    desired: 'running',
  };
}
