import type { BotSnapshot } from '../../../src/client/index.js';
import { nextTryText } from '../model/next-try.js';
import { second, serverNow, span } from '../model/time.js';

/** `next try in 31 s, attempt 6 of 10` of a bot that waits for its restart; nothing for others. */
export function NextTry({ bot }: { bot: BotSnapshot }) {
  void second.value;
  const text = nextTryText(bot, serverNow(), span);
  return text === null ? null : <span class="next-try">{text}</span>;
}
