// Runs in tabs. Owns the page's Trusted Types policy: the only script URLs that can be loaded are those of its workers.

import runUrl from '../runs/run-worker.ts?worker&url';
import hubUrl from './hub-worker.ts?sharedworker&url';

const OWN: readonly string[] = [hubUrl, runUrl];

const scripts = globalThis.trustedTypes?.createPolicy('drover', {
  createScriptURL: (url: string) => {
    if (!OWN.includes(url)) throw new TypeError(`${url} is not a script of this page`);
    return url;
  },
});

/** @param url of a worker of this page. @returns what `new Worker` takes. */
export function scriptUrl(url: string): string {
  return (scripts?.createScriptURL(url) ?? url) as string;
}
