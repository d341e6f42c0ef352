import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { DroverError } from '../../shared/errors.js';
import type { Exchange, Response } from '../engine/engine.js';
import { DASHBOARD_HEADERS } from '../engine/responses.js';
import { etagOf, matchesEtag } from '../http/etag.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Encodings that the build produces, the best first. */
const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const;
/** The name contains a hash of the content, so a file never changes. */
const FOREVER = 'public, max-age=31536000, immutable';
/** The page refers to the files of its build: always revalidated, mostly with 304. */
const REVALIDATE = 'no-cache';

/** One file: the same content in several encodings. */
interface StaticFile {
  etag: string;
  headers: readonly string[];
  plain: Uint8Array;
  encoded: ReadonlyMap<string, Uint8Array>;
}

/** Runs in a front thread. Owns the dashboard's files, in memory, each in the encodings that the build produced. */
export class DashboardFiles {
  readonly #page: StaticFile | undefined;
  readonly #assets = new Map<string, StaticFile>();

  /** Reads all files. @param dir output of vite; if it is missing, every file is 404. */
  constructor(dir: string) {
    const page = join(dir, 'index.html');
    if (!existsSync(page)) return;
    this.#page = readStatic(page, REVALIDATE);
    const assets = join(dir, 'assets');
    for (const name of readdirSync(assets)) {
      if (extname(name) in TYPES) this.#assets.set(name, readStatic(join(assets, name), FOREVER));
    }
  }

  /** `GET /`. */
  page(exchange: Exchange): void {
    serve(exchange, this.#page);
  }

  /** `GET /assets/{file}`. */
  asset(exchange: Exchange, name: string): void {
    serve(exchange, this.#assets.get(name));
  }
}

function readStatic(path: string, cacheControl: string): StaticFile {
  const plain = readFileSync(path);
  const encoded = new Map<string, Uint8Array>();
  for (const { name, ending } of ENCODINGS) {
    if (existsSync(path + ending)) encoded.set(name, readFileSync(path + ending));
  }
  return {
    etag: etagOf(plain),
    plain,
    encoded,
    headers: [
      ...['Content-Type', TYPES[extname(path)] as string],
      ...DASHBOARD_HEADERS,
      ...['Cache-Control', cacheControl, 'Vary', 'Accept-Encoding'],
    ],
  };
}

function serve(exchange: Exchange, file: StaticFile | undefined): void {
  if (!file) throw new DroverError('not_found');
  exchange.respond(
    answerFor(file, exchange.header('accept-encoding'), exchange.header('if-none-match')),
  );
}

function answerFor(file: StaticFile, acceptEncoding: string, ifNoneMatch: string): Response {
  const encoding = chooseEncoding(acceptEncoding, file.encoded);
  // Strong tags of different encodings must differ.
  const etag = encoding === '' ? file.etag : `${file.etag.slice(0, -1)}-${encoding}"`;
  const headers = [...file.headers, 'ETag', etag];
  if (matchesEtag(ifNoneMatch, etag)) return { status: 304, headers, body: '' };
  if (encoding !== '') headers.push('Content-Encoding', encoding);
  return { status: 200, headers, body: file.encoded.get(encoding) ?? file.plain };
}

/** @returns the best encoding that is available and accepted, '' for none. */
export function chooseEncoding(
  acceptEncoding: string,
  available: { has(name: string): boolean },
): string {
  const accepted = new Map<string, boolean>();
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    accepted.set(name, !refused);
  }
  const best = ENCODINGS.find(
    ({ name }) => available.has(name) && (accepted.get(name) ?? accepted.get('*') ?? false),
  );
  return best?.name ?? '';
}
