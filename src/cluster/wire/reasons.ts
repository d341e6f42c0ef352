// Why NATS does not do what was asked of it, in one line for the operator. In main and in the bus thread.

import { DroverError, messageOf, StartupError } from '../../shared/errors.js';
import { JetStreamApiError, RequestError } from './nats.js';

const NOT_ENABLED = 10039;
/** The bucket or stream is not there. */
const NOT_FOUND = 10059;
/** The expected sequence or revision is another by now. */
const WRONG_SEQUENCE = [10071, 10164];
const NO_SPACE = [10023, 10047, 10077];
const TEMPORARY = [10008, 10009];

const JETSTREAM_OFF =
  'JetStream is not enabled on the NATS server: start it with -js, or enable it for this account';

/** Something that was expected to be at a revision or sequence is not any more: another has changed it. */
export function isWrongSequence(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && WRONG_SEQUENCE.includes(thrown.code);
}

/** What JetStream would say. */
export function wrongSequence(): JetStreamApiError {
  const [err_code = 0] = WRONG_SEQUENCE;
  return new JetStreamApiError({ code: 400, err_code, description: 'wrong last sequence' });
}

/** The stream or bucket does not exist. A publish to a stream that does not exist has no responder. */
export function isMissing(thrown: unknown): boolean {
  return (
    (thrown instanceof JetStreamApiError && thrown.code === NOT_FOUND) || hasNoResponder(thrown)
  );
}

function hasNoResponder(thrown: unknown): boolean {
  if (thrown instanceof RequestError) return thrown.isNoResponders();
  const cause = thrown instanceof Error ? thrown.cause : null;
  return cause ? hasNoResponder(cause) : false;
}

/** @param thrown by the NATS clients. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof StartupError || thrown instanceof DroverError) return thrown.message;
  if (thrown instanceof Error && thrown.name === 'JetStreamNotEnabled') return JETSTREAM_OFF;
  if (thrown instanceof JetStreamApiError) return apiReason(thrown);
  if (hasNoResponder(thrown)) return JETSTREAM_OFF;
  return connectionReason(thrown);
}

function apiReason({ code, message }: JetStreamApiError): string {
  if (code === NOT_ENABLED) return JETSTREAM_OFF;
  if (NO_SPACE.includes(code)) return `JetStream has no space left (${message})`;
  if (TEMPORARY.includes(code))
    return `JetStream is not available: most of its NATS servers do not answer (${message})`;
  return `JetStream refused (${message})`;
}

function connectionReason(thrown: unknown): string {
  const cause = rootOf(thrown);
  const code = codeOf(cause);
  const text = messageOf(cause);
  if (/authorization violation|authentication (expired|timeout)/i.test(text))
    return `NATS refused the credentials (${text.toLowerCase()})`;
  if (/permissions violation/i.test(text)) return `NATS refused (${text})`;
  if (isTls(code, text)) return `no TLS connection to the NATS servers (${text})`;
  if (cause instanceof Error && cause.name === 'TimeoutError')
    return 'the NATS servers do not answer (timeout)';
  return `the NATS servers cannot be reached (${text})`;
}

/** The clients wrap what the system said. */
function rootOf(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? rootOf(thrown.cause) : thrown;
}

function codeOf(thrown: unknown): string {
  const { code } = (thrown ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function isTls(code: string, text: string): boolean {
  return (
    /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code) ||
    /\btls\b/i.test(text)
  );
}
