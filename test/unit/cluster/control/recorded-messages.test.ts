// What earlier versions have said and stored passes the schemas of this one.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { decodeBlock } from '../../../../src/cluster/bus/block.js';
import { readBotRecord } from '../../../../src/cluster/control/bot-records.js';
import { checkLease } from '../../../../src/cluster/control/node-record.js';
import { readToken } from '../../../../src/cluster/control/tokens-bucket.js';
import { checkNamed } from '../../../../src/cluster/wire/bus-validators.js';
import { checkCall } from '../../../../src/cluster/wire/call-messages.js';
import type { Recording } from '../../../cluster/recording.js';

const { calls, streams } = JSON.parse(
  readFileSync('test/fixtures/cluster/protocol-1.json', 'utf8'),
) as Recording;

it.each(calls)('the call $method', ({ method, data }) => {
  const message = JSON.parse(Buffer.from(data, 'base64').toString()) as { input: unknown };
  checkNamed('BusMessages', 'call', message);
  expect(() => checkCall('input', method, message.input ?? null)).not.toThrow();
});

it.each(streams)('what is in $name', ({ name, messages }) => {
  const read = (key: string, bytes: Buffer): unknown => {
    if (name.endsWith('-events')) return decodeBlock(bytes);
    const text = bytes.toString();
    if (name.endsWith('-nodes')) return checkLease(key, text);
    if (name.endsWith('-bots')) return readBotRecord(key, text);
    return key === '_secret_key' || readToken(key, JSON.parse(text));
  };
  for (const { subject, headers, data } of messages) {
    if (headers['KV-Operation']) continue;
    const key = subject.split('.').slice(2).join('.');
    expect(() => read(key, Buffer.from(data, 'base64')), key).not.toThrow();
  }
});
