// Single requests of a bench to a server, over HTTP or HTTPS.

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface Question {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  authorization?: string;
  /** Sent as JSON. */
  body?: object;
}

/**
 * Trusts any certificate: it is one that the bench has made, and everything is on loopback.
 * @returns the response's text. @throws Error for any status but 2xx, or without a response.
 */
export function ask(
  url: string,
  path: string,
  { method = 'GET', authorization, body }: Question = {},
): Promise<string> {
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const what = `${method} ${path}`;
  return new Promise((resolve, reject) => {
    const options = { method, headers, rejectUnauthorized: false };
    const asked = request(url + path, options, (response) => {
      const { statusCode = 0 } = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (statusCode >= 200 && statusCode < 300) resolve(text);
        else reject(new Error(`${what} was answered ${statusCode} ${text}`));
      });
    });
    asked.on('error', (error) => reject(new Error(`${what}: ${error.message}`)));
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
