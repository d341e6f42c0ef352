// The configured maxima, compared with the files that the process may open.

import { expect, it } from 'vitest';
import { loadConfig } from '../../../src/main/environment/load-config.js';
import { fitToOpenFiles } from '../../../src/main/environment/open-files.js';

const DEFAULTS = loadConfig(undefined, {}, {});

it.each([null, 65_536, 1_048_576])('%s files are enough for the defaults', (files) => {
  expect(fitToOpenFiles(DEFAULTS, 2, files)).toEqual({ config: DEFAULTS, warning: null });
});

it('few files lower all limits in proportion, with one line that says so', () => {
  const { config, warning } = fitToOpenFiles(DEFAULTS, 2, 512);
  expect(config).toEqual({
    ...DEFAULTS,
    http: { ...DEFAULTS.http, max_connections: 296, max_connections_per_address: 118 },
    stream: {
      ...DEFAULTS.stream,
      max_streams: 236,
      max_streams_per_token: 59,
    },
  });
  expect(warning).toBe(
    'only 512 files can be open: http.max_connections is 296 instead of 25000, ' +
      'http.max_connections_per_address 118 instead of 10000, stream.max_streams 236 instead of 20000, ' +
      'stream.max_streams_per_token 59 instead of 5000; ' +
      'raise the limit (ulimit -n, LimitNOFILE=)',
  );
});

it('every limit that is lowered is in the line, and no other', () => {
  const { http, stream } = DEFAULTS;
  const given = {
    ...DEFAULTS,
    http: { ...http, max_connections_per_address: 1 },
    stream: { ...stream, max_streams: 10_000, max_streams_per_token: 5000 },
  };
  for (let files = 64; files < 40_000; files += 97) {
    const { config, warning } = fitToOpenFiles(given, 2, files);
    for (const part of ['http', 'stream'] as const) {
      const before = given[part] as unknown as Record<string, number>;
      for (const [name, after] of Object.entries(config[part])) {
        const words = `${part}.${name} ${after} instead of ${before[name]}`;
        const isTold = warning?.replace(' is ', ' ').includes(words) ?? false;
        expect([words, isTold]).toEqual([words, after !== before[name]]);
      }
    }
  }
});

it('what is configured lower stays', () => {
  const few = { ...DEFAULTS, http: { ...DEFAULTS.http, max_connections: 200 } };
  expect(fitToOpenFiles(few, 2, 512)).toEqual({ config: few, warning: null });
  const fewStreams = { ...DEFAULTS, stream: { ...DEFAULTS.stream, max_streams: 3 } };
  expect(fitToOpenFiles(fewStreams, 2, 512).config.stream).toMatchObject({
    max_streams: 3,
    max_streams_per_token: 3,
  });
});

it('a service without bots that connect may use nearly all files for streams', () => {
  const http = { ...DEFAULTS.http, max_connections: 19_400, reserved_files: 400 };
  const full = { ...DEFAULTS, http };
  expect(fitToOpenFiles(full, 2, 20_000)).toEqual({ config: full, warning: null });
  const none = { ...DEFAULTS, http: { ...http, max_connections: 25_000, reserved_files: 0 } };
  expect(fitToOpenFiles(none, 2, 20_000).config.http.max_connections).toBeLessThan(19_900);
});

it('files are left for threads, bots and the service, however few there are', () => {
  for (let files = 16; files < 40_000; files += 7) {
    const { max_connections } = fitToOpenFiles(DEFAULTS, 64, files).config.http;
    expect(max_connections).toBeGreaterThanOrEqual(1);
    expect(max_connections).toBeLessThanOrEqual(files * 0.75);
  }
});
