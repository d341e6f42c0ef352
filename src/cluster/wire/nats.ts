// The one place that the NATS clients are imported from, so that they are one bundled file (rolldown.config.mjs). Only what runs in a
// cluster loads it, with import(): a single service does not.

export {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
export { type KV, type KvEntry, Kvm, type KvWatchEntry } from '@nats-io/kv';
export {
  type Authenticator,
  type ConnectionOptions,
  connect,
  createInbox,
  credsAuthenticator,
  headers,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  RequestError,
  type Subscription,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
