// Names and bounds of operations, for those who validate nothing and do not load TypeBox.

/** What an operation does to its bots. */
export const OPERATION_TYPES = ['action', 'create', 'apply', 'rollout'] as const;
export type OperationType = (typeof OPERATION_TYPES)[number];

/** What an operation is doing: src/main/operations/operation-life.ts. */
export const OPERATION_STATES = [
  'waiting',
  'running',
  'paused',
  'canceling',
  'stopping',
  'done',
  'canceled',
  'stopped',
  'interrupted',
] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** What has become of one bot of an operation. */
export const BOT_RESULTS = ['waiting', 'running', 'done', 'failed', 'skipped', 'unknown'] as const;
export type BotResult = (typeof BOT_RESULTS)[number];

/** Bots that an operation works on at once, at most. */
export const MAX_PARALLEL = 1000;
/** Longest pause between two beginnings, in ms: an hour. */
export const MAX_STAGGER_MS = 3_600_000;
/** Longest `wait`, in ms: an hour. */
export const MAX_WAIT_MS = 3_600_000;

/** What a client can ask of an operation. */
export const OPERATION_CHANGES = ['pause', 'resume', 'cancel'] as const;
export type OperationChange = (typeof OPERATION_CHANGES)[number];

/** What a client can ask of a rollout, beyond that. */
export const ROLLOUT_CHANGES = ['promote', 'abort', 'revert'] as const;
export type RolloutChange = (typeof ROLLOUT_CHANGES)[number];

/** States that nothing leads out of. */
export function hasEnded({ state }: { state: OperationState }): boolean {
  return ENDS.has(state);
}
const ENDS: ReadonlySet<OperationState> = new Set(['done', 'canceled', 'stopped', 'interrupted']);
