import { BotSnapshot } from '../event-schemas.js';
import type { TSchema } from '../typebox.js';

/** The example that a schema has. */
export const exampleOf = (schema: TSchema): unknown =>
  (schema as { examples?: unknown[] }).examples?.[0];
export const BOT = exampleOf(BotSnapshot) as BotSnapshot;
export const TOKEN = 'b9sonxmumDHryYOsxUTnaFTEpxbQQ+0nNbk6bPTLdZUU80CDzfHISUfjFQqhjlDg';
