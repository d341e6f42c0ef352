// Listeners, hooks and throws of a bot in a thread host, beside two neighbours on the same host, one of them of the same kind: the
// service lives, the neighbours are not restarted, and the right bot is named.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  create,
  createNeighbour,
  incidents,
  invoke,
  remove,
  snapshot,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const KINDS = fileURLToPath(new URL('../fixtures/hostile-ways', import.meta.url));
const BOOM = /^boom$/;
const AGAIN = /^again: boom/;
const REFUSED = /isolation: process/;
/** How a bot ends: its error; or the status with which it keeps running. */
const WAYS: Record<string, RegExp | string> = {
  uncaught_exit: /process\.exit\(1\).*boom/,
  uncaught_throw: AGAIN,
  uncaught_prepended: AGAIN,
  uncaught_async: BOOM,
  uncaught_handled: 'boom uncaughtException',
  monitor_throw: AGAIN,
  rejection_rethrow: BOOM,
  rejection_exit: /process\.exit\(3\).*boom/,
  rejection_handled: 'boom',
  rejection_as_uncaught: 'boom unhandledRejection',
  rejection_handled_late: BOOM,
  capture_throw: AGAIN,
  capture_swallow: 'boom',
  exit_in_timer: /process\.exit\(2\)/,
  exit_caught: /process\.exit\(2\)/,
  exit_code_listened: /process\.exit\(5\)/,
  exit_listener_throws: /process\.exit\(2\)/,
  exit_listener_exits: /process\.exit\(2\)/,
  really_exit: /process\.reallyExit\(1\)/,
  abort: /process\.abort\(\)/,
  kill_self: /process\.kill\(\d+, SIGTERM\)/,
  kill_self_hard: /process\.kill\(\d+, SIGKILL\)/,
  kill_self_listened: 'SIGTERM',
  kill_group: /process\.kill\(0\)/,
  debug_self: REFUSED,
  signal_listener_exits: /process\.exit\(130\)/,
  emit_uncaught: 'nobody',
  fatal_exception: BOOM,
  fatal_exception_replaced: /boom|read only/,
  warning_throws: BOOM,
  hostile_warning: BOOM,
  throw_deprecation: 'done',
  multiple_resolves: /boom|done/,
  worker_listener: BOOM,
  emit_wrapped: 'custom heard',
  emit_replaced: /replaced|boom|first/,
  listeners_removed: BOOM,
  prototype_on: BOOM,
  prototype_removes: BOOM,
  emit_deleted: /delete property 'emit'/,
  emit_defined: /redefine property: emit/,
  on_replaced: 'done',
  exit_deleted: /delete property 'exit'/,
  kill_below: /process\._kill\(\d+, 9\)/,
  handles_closed: 'done',

  hook_init: BOOM,
  hook_init_of_handle: BOOM,
  hook_init_of_promise: BOOM,
  hook_before: BOOM,
  hook_after: BOOM,
  hook_destroy: BOOM,
  hook_promise_resolve: BOOM,
  hook_of_neighbour: 'done',
  hook_exits: /process\.exit\(4\)/,
  promise_hook: BOOM,
  promise_hook_settled: BOOM,
  domain_listener: AGAIN,
  domain_exits: /process\.exit\(6\).*boom/,
  domain_unheard: BOOM,
  domain_nested: AGAIN,
  domain_handled: 'boom',
  finalizer: BOOM,
  finalizer_of_class: BOOM,
  observer_of_class: BOOM,
  buffer_full: 'done',
  signal_changed: BOOM,
  signal_unclassed: /boom|addEventListener/,
  context_replaced: BOOM,
  prepare_stack: BOOM,
  prepare_stack_of_thrown: BOOM,
  prepare_stack_exits: /boom|process\.exit\(8\)/,
  stack_limit: BOOM,

  timer: BOOM,
  interval: BOOM,
  immediate: BOOM,
  microtask: BOOM,
  microtask_later: BOOM,
  tick: BOOM,
  tick_of_microtask: BOOM,
  thenable: BOOM,
  emitter: BOOM,
  captured_rejection: BOOM,
  event_target: BOOM,
  event_handler_object: BOOM,
  abort_signal: BOOM,
  abort_timeout: BOOM,
  message_port: BOOM,
  message_port_on: BOOM,
  broadcast_channel: BOOM,
  worker_message: BOOM,
  worker_error: BOOM,
  worker_exit: BOOM,
  parent_port: 'done',
  parent_port_closed: 'done',
  writable: BOOM,
  readable: BOOM,
  stream_callback: BOOM,
  pipeline_callback: BOOM,
  web_stream: BOOM,
  dns: BOOM,
  dns_resolve: BOOM,
  fs: BOOM,
  child: BOOM,
  child_unheard: /ENOENT/,
  child_data: BOOM,
  net_server: BOOM,
  net_client: BOOM,
  net_unheard: /ECONNREFUSED/,
  http_server: BOOM,
  http_client: BOOM,
  http_unheard: /ECONNREFUSED/,
  https_unheard: /ECONNREFUSED/,
  tls_unheard: /SSL|disconnected|packet/i,
  dgram: BOOM,
  zlib: BOOM,
  crypto: BOOM,
  crypto_job: BOOM,
  readline: BOOM,
  diagnostics: BOOM,
  diagnostics_of_neighbour: 'done',
  diagnostics_store: BOOM,
  observer: BOOM,
  web_assembly: BOOM,
  to_json: BOOM,
  inspected: 'done',
  recursion: /call stack/,
  recursion_of_promises: /call stack/,
  recursion_of_ticks: /call stack/,
  // There is no room for an error.
  recursion_of_requests: /call stack|undefined/,

  thrown_spiked: /./,
  rejected_spiked: /./,
  thrown_revoked: /./,
  rejected_revoked: /./,
  thrown_getters: /./,
  thrown_primitive: /./,
  thrown_timer_bomb: /a bomb/,
  thrown_exit: /./,
  unhandled_error_event: /./,

  flags: REFUSED,
  near_heap_limit: REFUSED,
  inspector_open: REFUSED,
  inspector_main: REFUSED,
  inspector_session: REFUSED,
  interrupted_script: REFUSED,
  loader: REFUSED,
  loader_hooks: 'done',
  named_pipes: REFUSED,
  named_pipe_streams: REFUSED,
  named_pipe_at_once: REFUSED,
  named_pipe_promised: REFUSED,
  named_pipe_without_waiting: 'done',
  terminal: REFUSED,
  change_directory: /not supported in workers/,
  change_mask: /not supported in workers/,
  output_ended: 'done',
  output_replaced: 'done',
  input: 'done',
  promise_replaced: /read only/,
  tick_replaced: /read only/,
  builtins_replaced: REFUSED,
  reflect_replaced: /read only/,
  statics_replaced: /read only/,
  map_replaced: /read only/,
  process_replaced: /read only/,
  abort_controller_replaced: 'done',
  console_replaced: 'done',
  fetch_replaced: 'done',
  request_replaced: 'done',
  loader_replaced: 'done',
  environment_changed: 'done',
  environment_replaced: 'done',
  // The last one: nothing undoes it.
  error_frozen: 'done',
};
const NEIGHBOURS = ['neighbour', 'sibling'];

let service: Service;
let stream: SseStream;
let serial = 0;

beforeAll(async () => {
  service = await startService({
    args: ['--bot-hosts', '1'],
    config: { kinds: [KINDS], hosts: { stop_grace_ms: 500 } },
  });
  stream = await watch(service);
  await createNeighbour(service, stream, 'neighbour');
  await create(service, { id: 'sibling', kind: 'hostile-ways' });
  await statusFrom(stream, 0, 'sibling', 'ready');
});
afterAll(async () => {
  stream.close();
  await stopClean(service);
});

async function expectNobodyElse(way: string): Promise<void> {
  const { json } = await invoke(service, 'sibling', 'act', { way });
  expect(json).toEqual({ result: 'well' });
  for (const id of NEIGHBOURS) {
    expect(await snapshot(service, id)).toMatchObject({ restarts: 0, last_error: null });
    expect(await incidents(service, id)).toEqual([]);
  }
}

describe('a bot that has a way to throw, listen, hook or end ends alone', () => {
  it.each(Object.entries(WAYS))('%s', async (way, outcome) => {
    const id = `${way}-${++serial}`;
    const body = { id, kind: 'hostile-ways', config: { way }, restart: { max_restarts: 0 } };
    expect((await create(service, body)).status).toBe(201);
    if (typeof outcome === 'string') {
      await statusFrom(stream, 0, id, outcome);
      await expectNobodyElse(way);
      expect(await snapshot(service, id)).toMatchObject({
        status: outcome,
        restarts: 0,
        last_error: null,
      });
    } else {
      const ended = await snapshotFrom(
        stream,
        0,
        id,
        ({ status }) => status === 'failed' || status === 'done',
      );
      await expectNobodyElse(way);
      if (ended.status === 'failed') {
        expect(ended.last_error?.replace(/; restarted [^;]*$/, '')).toMatch(outcome);
        const found = await incidents(service, id);
        for (const incident of found) expect(incident).toMatchObject({ suspect: id, bots: [id] });
      }
    }
    await remove(service, id);
  });
});

/** The same holds for bots that share a host process. What ends that process is in test/stress/process-hosts.test.ts. */
it('in a process host, listeners and hooks are those of one bot, too', async () => {
  const ways = [
    'uncaught_throw',
    'uncaught_handled',
    'monitor_throw',
    'rejection_rethrow',
    'capture_throw',
    'domain_listener',
    'hook_before',
    'microtask',
    'listeners_removed',
  ];
  const body = { kind: 'hostile-ways', isolation: 'process', restart: { max_restarts: 0 } };
  await create(service, { ...body, id: 'beside' });
  await statusFrom(stream, 0, 'beside', 'ready');
  for (const way of ways) {
    const id = `process-${way}`;
    await create(service, { ...body, id, config: { way } });
    const outcome = WAYS[way] ?? '';
    if (typeof outcome === 'string') await statusFrom(stream, 0, id, outcome);
    else {
      const { last_error } = await statusFrom(stream, 0, id, 'failed');
      expect(last_error?.replace(/; restarted [^;]*$/, '')).toMatch(outcome);
    }
  }
  expect((await invoke(service, 'beside', 'act', { way: '' })).json).toEqual({ result: 'well' });
  expect(await snapshot(service, 'beside')).toMatchObject({ restarts: 0, last_error: null });
});

it('an observer that throws for what a neighbour does ends its own bot', async () => {
  const id = 'observes';
  await create(service, {
    id,
    kind: 'hostile-ways',
    config: { way: 'observer_of_neighbour' },
    restart: { max_restarts: 0 },
  });
  await statusFrom(stream, 0, id, 'done');
  await expectNobodyElse('observer_of_neighbour');
  expect((await statusFrom(stream, 0, id, 'failed')).last_error).toMatch(/^boom;/);
  await expectNobodyElse('');
});

it('a listener of the signal of a command throws when its caller leaves: the bot ends alone', async () => {
  const id = 'waits';
  await create(service, { id, kind: 'hostile-ways', restart: { max_restarts: 0 } });
  await statusFrom(stream, 0, id, 'ready');
  const caller = new AbortController();
  const called = fetch(`${service.url}/invoke`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await service.token()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ session_id: id, command: 'wait' }),
    signal: caller.signal,
  }).catch(() => 'left');
  await statusFrom(stream, 0, id, 'waits');
  caller.abort();
  expect(await called).toBe('left');
  expect((await statusFrom(stream, 0, id, 'failed')).last_error).toMatch(/^boom;/);
  await expectNobodyElse('');
});

it('code of the module of a kind that throws outside of a run ends the bots of the kind, and no others', async () => {
  const from = stream.frames.length;
  await invoke(service, 'sibling', 'throw_in_module');
  const { last_error } = await statusFrom(stream, from, 'sibling', 'backoff');
  expect(last_error).toBe('boom; it was code of the bot kind hostile-ways, of no bot');
  await statusFrom(stream, from, 'sibling', 'ready');
  expect(await snapshot(service, 'neighbour')).toMatchObject({ restarts: 0, last_error: null });
});
