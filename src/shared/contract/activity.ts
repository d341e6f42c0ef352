// What people and programs do through the API: the names of it, and its texts.

/** By name: what was done, and what could not be done. */
const TEXTS = {
  sign_in: ['signed in', 'sign in'],
  'token.create': ['created the token', 'create the token'],
  'token.revoke': ['revoked the token', 'revoke the token'],
  'link.create': ['created a sign-in link for', 'create a sign-in link for'],
  'bot.create': ['created', 'create'],
  'bot.update': ['changed', 'change'],
  'bot.start': ['started', 'start'],
  'bot.stop': ['stopped', 'stop'],
  'bot.restart': ['restarted', 'restart'],
  'bot.delete': ['deleted', 'delete'],
  'bot.move': ['moved', 'move'],
  'bot.actions': ['acted on bots', 'act on bots'],
  'operation.pause': ['paused the operation', 'pause the operation'],
  'operation.resume': ['resumed the operation', 'resume the operation'],
  'operation.cancel': ['canceled the operation', 'cancel the operation'],
  'fleet.apply': ['applied', 'apply'],
  command: ['ran', 'run'],
  'kind.release': ['released the kind', 'release the kind'],
  'kind.reload': ['reloaded the kind', 'reload the kind'],
  'kinds.reload': ['reloaded the kinds', 'reload the kinds'],
  'rollout.start': ['began the rollout', 'begin the rollout'],
  'rollout.promote': ['promoted the rollout', 'promote the rollout'],
  'rollout.abort': ['aborted the rollout', 'abort the rollout'],
  'rollout.revert': ['took back the rollout', 'take back the rollout'],
  'rule.create': ['created the rule', 'create the rule'],
  'rule.update': ['changed the rule', 'change the rule'],
  'rule.delete': ['deleted the rule', 'delete the rule'],
  'node.cordon': ['cordoned the node', 'cordon the node'],
  'node.uncordon': ['uncordoned the node', 'uncordon the node'],
  'node.drain': ['drained the node', 'drain the node'],
  'node.remove': ['removed the node', 'remove the node'],
  'node.rebalance': ['rebalanced the nodes', 'rebalance the nodes'],
  'record.delete': ['deleted the record', 'delete the record'],
} as const satisfies Record<string, readonly [string, string]>;

export type ActivityName = keyof typeof TEXTS;

export const ACTIVITIES = Object.keys(TEXTS) as readonly ActivityName[];

/** `refused`: the actor may not do it. */
export const OUTCOMES = ['done', 'failed', 'refused'] as const;

/** Words before the target, where it is not what the activity is done to. */
const BEFORE_TARGET: Partial<Record<ActivityName, string>> = {
  'bot.move': 'to ',
  'fleet.apply': 'of the fleet ',
};

/** What a text is about: fields of an `activity` event. */
interface Told {
  activity: ActivityName;
  actor: string | null;
  target: string | null;
  outcome: (typeof OUTCOMES)[number];
  error: string | null;
  detail: { command?: string | undefined } | null;
}

/**
 * An activity in one line: `Ada restarted demo-1`, `Ada could not restart demo-1: no bot "demo-1"`.
 * @param whom the bots or the number of them, in place of the bot of the event.
 */
export function activityText(event: Told, whom: string): string {
  const { activity, actor, target, outcome, error, detail } = event;
  const [did, doing] = TEXTS[activity];
  const isDone = outcome === 'done';
  // A sign-in is refused to everybody whose PIN is wrong.
  const isForbidden = outcome === 'refused' && activity !== 'sign_in';
  const verb = isDone ? did : `${isForbidden ? 'may' : 'could'} not ${doing}`;
  const command = detail?.command === undefined ? '' : ` ${detail.command}`;
  const on = command !== '' && whom !== '' ? ` on ${whom}` : whom === '' ? '' : ` ${whom}`;
  const of = target === null ? '' : ` ${BEFORE_TARGET[activity] ?? ''}${target}`;
  const why = error === null ? '' : `: ${error}`;
  return `${actor ?? 'somebody'} ${verb}${command}${on}${of}${why}`;
}

/** Activities of one request, the newest first. */
export interface ActivityGroup<Event> {
  /** The newest. */
  event: Event;
  /** The bots, each once. */
  bots: string[];
  /** How many of these were not done. */
  failed: number;
}

/** What of an activity says which request it belongs to. */
type Grouped = Pick<Told, 'outcome'> & { operation: string | null; session_id: string | null };

/** Joins the activities of one request for many bots. @param events the newest first. */
export function groupActivities<Event extends Grouped>(
  events: Iterable<Event>,
): ActivityGroup<Event>[] {
  const groups: ActivityGroup<Event>[] = [];
  const known = new Map<string, ActivityGroup<Event>>();
  for (const event of events) {
    const { operation, session_id: bot, outcome } = event;
    let group = operation === null ? undefined : known.get(operation);
    if (!group) {
      group = { event, bots: [], failed: 0 };
      groups.push(group);
      if (operation !== null) known.set(operation, group);
    }
    if (bot !== null) group.bots.push(bot);
    if (outcome !== 'done') group.failed += 1;
    // What was done says more than what could not be.
    else if (group.event.outcome !== 'done') group.event = event;
  }
  return groups;
}
