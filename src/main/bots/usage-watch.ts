// Runs in main. Connects what the hosts report of their bots' usage with what is done with it: quotas, snapshots, metrics.

import type { Config } from '../../shared/contract/config.js';
import type { KindUsage } from '../../shared/contract/metric-layout.js';
import type { UsageReport } from '../../shared/contract/usage.js';
import type { HostThread } from '../threads/host-thread.js';
import { logItem, type ServiceEvents } from '../threads/service-events.js';
import { Quotas } from './quotas.js';
import type { BotRegistry } from './registry.js';
import { Usage } from './usage.js';
import { usageByKind } from './usage-metrics.js';
import { UsageSnapshots } from './usage-snapshots.js';

export class UsageWatch {
  readonly #registry: BotRegistry;
  readonly #usage: Usage<HostThread>;

  constructor(config: Config['quota'], registry: BotRegistry, events: ServiceEvents) {
    this.#registry = registry;
    const snapshots = new UsageSnapshots({
      shown: (id) => registry.usageOf(id),
      publish: (bot) => registry.showUsage(bot),
    });
    const quotas = new Quotas<HostThread>(config, {
      bot: (id) => registry.judged(id),
      warn: (id, line) => events.tell(logItem('warn', 'bot', line, id)),
      exceeded: (id, host, reason) => registry.overQuota(id, host, reason),
    });
    this.#usage = new Usage({
      windowMs: config.window_ms,
      isOn: (id, host) => registry.hostOf(id) === host,
      ended: (host, uses, ms) => snapshots.show(quotas.judge(host, uses, ms)),
    });
  }

  report(host: HostThread, report: UsageReport): void {
    this.#usage.report(host, report);
  }

  /** To be called when the host ends or is lost. */
  forget(host: HostThread): void {
    this.#usage.forget(host);
  }

  /** For `GET /metrics`. */
  byKind(): Record<string, KindUsage> {
    return usageByKind(this.#usage.all(), (id) => this.#registry.kindOf(id));
  }

  stop(): void {
    this.#usage.stop();
  }
}
