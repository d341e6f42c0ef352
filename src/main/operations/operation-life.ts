import type { OperationState } from '../../shared/contract/operation-bounds.js';

export type OperationEvent =
  /** Its record is stored: bots may be begun. */
  | 'begin'
  | 'pause'
  | 'resume'
  | 'cancel'
  /** More bots have failed than may, or what is checked after the first bots does not let it continue. */
  | 'fail'
  /** Every bot was begun and has ended. */
  | 'finish'
  /** No bot is running any more, and none is begun. */
  | 'settle'
  /** The service ends, or was ended. */
  | 'interrupt';

type Row = Readonly<Partial<Record<OperationEvent, OperationState>>>;

const LIFE: Readonly<Record<OperationState, Row>> = {
  waiting: { begin: 'running', cancel: 'canceling', interrupt: 'interrupted' },
  running: {
    pause: 'paused',
    cancel: 'canceling',
    fail: 'stopping',
    finish: 'done',
    interrupt: 'interrupted',
  },
  paused: {
    resume: 'running',
    cancel: 'canceling',
    fail: 'stopping',
    // The bots that were running when it was paused were the last ones.
    finish: 'done',
    interrupt: 'interrupted',
  },
  canceling: { settle: 'canceled', interrupt: 'interrupted' },
  stopping: { settle: 'stopped', interrupt: 'interrupted' },
  done: {},
  canceled: {},
  stopped: {},
  interrupted: {},
};

/** The state after an event. An event that a state does not name changes nothing. */
export function nextState(state: OperationState, event: OperationEvent): OperationState {
  return LIFE[state][event] ?? state;
}

/** Whether an event changes an operation in this state. */
export function takes(state: OperationState, event: OperationEvent): boolean {
  return LIFE[state][event] !== undefined;
}
