// The health check of the image: exit code 0 when `GET /health` is answered with 200. Host and port are those of the
// service's own environment; a certificate is not looked at, since nobody else can answer there.

import http from 'node:http';
import https from 'node:https';

const {
  DROVER_HTTP_HOST: listensOn = '0.0.0.0',
  DROVER_HTTP_PORT: port = '8090',
  DROVER_TLS_CERT: certificate,
} = process.env;
/** Where one that listens on all addresses is reached. */
const LOOPBACK = { '0.0.0.0': '127.0.0.1', '::': '::1' };
const { get } = certificate ? https : http;
const host = LOOPBACK[listensOn] ?? listensOn;
const options = { host, port, path: '/health', rejectUnauthorized: false };

const request = get(options, (response) => {
  response.resume();
  process.exit(response.statusCode === 200 ? 0 : 1);
});
request.setTimeout(3000, () => request.destroy(new Error('no answer in time')));
request.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
