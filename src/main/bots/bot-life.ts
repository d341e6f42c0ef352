/**
 * What a bot does. Its `status` on the stream is the same word, with exceptions: `queued` and `announcing` show `starting`,
 * `held` shows `failed`, a bot that is `running` has the status that its host reports, and `placing`, `ended` and `due` are not shown.
 */
export type BotState =
  | 'stopped'
  /** Waits for its turn to start. */
  | 'queued'
  /** Waits for a bot host. */
  | 'placing'
  /** Has a host; the status `starting` is on its way to the stream. */
  | 'announcing'
  /** Its host has been told to run it. */
  | 'running'
  | 'stopping'
  /** Its run has ended; the restart policy decides. */
  | 'ended'
  /** Waits for its restart. */
  | 'backoff'
  /** The wait for its restart is over, but an operation is under way. */
  | 'due'
  | 'failed'
  /** It has failed because its kind is quarantined, and starts when that ends. */
  | 'held'
  | 'deleted'
  /** Another node of the cluster has it. */
  | 'moved';

export type BotEvent =
  /** Show a new bot for the first time, without starting it. */
  | 'show'
  | 'launch'
  /** It is to be started, but not before its turn. */
  | 'queue'
  | 'placed'
  | 'announced'
  | 'launchFailed'
  /** The run ended by itself, or its host was lost. */
  | 'ended'
  /** Decisions of the restart policy. */
  | 'rest'
  | 'giveUp'
  | 'retry'
  /** The bot fails because its kind is quarantined. */
  | 'hold'
  | 'waitOver'
  /** No operation is under way any more. */
  | 'idle'
  | 'halt'
  /** The host has stopped the run, or no longer answers. */
  | 'halted'
  | 'delete'
  /** This node gives the bot to another one. */
  | 'leave';

export type BotEffect =
  /** Find a host, then announce and run the bot. Reports `placed`, `announced` or `launchFailed`. */
  | 'launch'
  /** Keep the host that was found. */
  | 'occupy'
  /** Give back a host that came too late. */
  | 'returnPlace'
  | 'run'
  /** Tell the host to stop the run. Reports `halted`. */
  | 'stop'
  /** Leave the host. */
  | 'release'
  /** Ask the restart policy. Reports `rest`, `giveUp`, `hold` or `retry`. */
  | 'decide'
  /** Start the timer of the restart, and wait for its turn. Reports `waitOver`. */
  | 'wait'
  | 'cancelWait'
  | 'countRestart'
  /** Put the status of the new state on the stream. */
  | 'announce';

export interface Transition {
  readonly to: BotState;
  /** Carried out in this order. `launch`, `stop` and `decide` report later events and come last. */
  readonly effects: readonly BotEffect[];
}

type Row = Partial<Record<BotEvent, Transition>>;

const to = (state: BotState, ...effects: BotEffect[]): Transition => ({ to: state, effects });

const LIFE: Readonly<Record<BotState, Row>> = {
  stopped: {
    show: to('stopped', 'announce'),
    launch: to('placing', 'launch'),
    queue: to('queued', 'wait', 'announce'),
    // The bot was stopped because of what it did, and is not to be started again.
    giveUp: to('failed', 'announce'),
    delete: to('deleted', 'announce'),
    leave: to('moved', 'announce'),
  },
  queued: {
    waitOver: to('placing', 'launch'),
    launch: to('placing', 'cancelWait', 'launch'),
    // A second request may have an earlier turn.
    queue: to('queued', 'cancelWait', 'wait'),
    halt: to('stopped', 'cancelWait', 'announce'),
  },
  placing: {
    placed: to('announcing', 'occupy', 'announce'),
    launchFailed: to('ended', 'decide'),
    halt: to('stopped', 'announce'),
  },
  announcing: {
    announced: to('running', 'run'),
    launchFailed: to('ended', 'release', 'decide'),
    ended: to('ended', 'release', 'decide'),
    halt: to('stopping', 'stop'),
  },
  running: {
    launchFailed: to('ended', 'release', 'decide'),
    ended: to('ended', 'release', 'decide'),
    halt: to('stopping', 'stop'),
  },
  stopping: {
    ended: to('stopping', 'release'),
    halt: to('stopping', 'stop'),
    halted: to('stopped', 'release', 'announce'),
  },
  ended: {
    rest: to('stopped', 'announce'),
    giveUp: to('failed', 'announce'),
    hold: to('held', 'announce'),
    retry: to('backoff', 'wait', 'announce'),
  },
  backoff: {
    waitOver: to('due'),
    launch: to('placing', 'cancelWait', 'launch'),
    queue: to('queued', 'cancelWait', 'wait', 'announce'),
    halt: to('stopped', 'cancelWait', 'announce'),
  },
  due: {
    idle: to('placing', 'countRestart', 'launch'),
    launch: to('placing', 'launch'),
    queue: to('queued', 'wait', 'announce'),
    halt: to('stopped', 'announce'),
  },
  failed: {
    launch: to('placing', 'launch'),
    queue: to('queued', 'wait', 'announce'),
    halt: to('stopped', 'announce'),
  },
  held: {
    launch: to('placing', 'launch'),
    queue: to('queued', 'wait', 'announce'),
    halt: to('stopped', 'announce'),
  },
  deleted: {},
  moved: {},
};

/** When the service shuts down nothing is started any more. An operation that is under way may still ask for it. */
const WHILE_CLOSING: Readonly<Partial<Record<BotState, Row>>> = {
  placing: { placed: to('placing', 'returnPlace'), launchFailed: to('placing') },
  announcing: { announced: to('announcing'), launchFailed: to('announcing') },
  running: { launchFailed: to('running') },
  due: { idle: to('due') },
};

export const BOT_STATES = Object.keys(LIFE) as readonly BotState[];

/** What an event does to a bot. An event that a state does not name changes nothing. */
export function nextStep(state: BotState, event: BotEvent, closing: boolean): Transition {
  const step = (closing ? WHILE_CLOSING[state]?.[event] : undefined) ?? LIFE[state][event];
  if (step) return step;
  return event === 'placed' ? to(state, 'returnPlace') : to(state);
}

/** What keeps a bot from running although it should. */
export type BotHold =
  | 'free'
  /** This node may not run the bot. */
  | 'kept'
  /** This node may not run the bot yet; the bot is started when that changes. */
  | 'suspended'
  /** This node may run the bot again; its start comes after the operation that is under way. */
  | 'resuming'
  /** The service shuts down. */
  | 'closing';

export type HoldEvent =
  /** This node may not run the bot, which does not run. */
  | 'keep'
  /** This node may not run the bot any more. */
  | 'interrupt'
  /** The bot would be started now, if this node might run it. */
  | 'postpone'
  | 'allow'
  /** The bot is started, or is not to run any more. */
  | 'resumed'
  /** Another node has the bot. */
  | 'leave'
  | 'close';

const HOLDS: Readonly<Record<BotHold, Partial<Record<HoldEvent, BotHold>>>> = {
  free: { keep: 'kept', interrupt: 'suspended', leave: 'kept', close: 'closing' },
  kept: { postpone: 'suspended', allow: 'free', close: 'closing' },
  suspended: { allow: 'resuming', leave: 'kept', close: 'closing' },
  resuming: {
    keep: 'suspended',
    interrupt: 'suspended',
    resumed: 'free',
    leave: 'kept',
    close: 'closing',
  },
  closing: {},
};

/** An event that a hold does not name changes nothing. */
export function nextHold(hold: BotHold, event: HoldEvent): BotHold {
  return HOLDS[hold][event] ?? hold;
}
