// The image's health check: exit code 0 when `GET /health` returns 200. Host and port come from the service's environment.
// The certificate is not verified, since no other process can answer there.

import http from 'node:http';
import https from 'node:https';

const {
  DROVER_HTTP_HOST: listensOn = '0.0.0.0',
  DROVER_HTTP_PORT: port = '8090',
  DROVER_TLS_CERT: certificate,
} = process.env;
/** Where to connect when the service listens on all addresses. */
const LOOPBACK = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const { get } = certificate ? https : http;
const host = LOOPBACK[listensOn] ?? listensOn;
const options = { host, port, path: '/health', rejectUnauthorized: false };

const request = get(options, (response) => {
  response.resume();
  process.exit(response.statusCode === 200 ? 0 : 1);
});
request.setTimeout(3000, () => request.destroy(new Error('timed out')));
request.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
