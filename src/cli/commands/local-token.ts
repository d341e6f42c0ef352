// `drover tokens create --data-dir`: a token without a PIN and without a request. Its digest is left in the data directory, and
// the service accepts it from there (src/main/access/token-files.ts).

import { randomUUID } from 'node:crypto';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tokenFileName } from '../../main/access/token-files.js';
import { tokenSpec } from '../../main/access/token-spec.js';
import { dataDirHolder } from '../../main/environment/data-dir-lock.js';
import { explainSchemaError } from '../../shared/contract/explain.js';
import type { CreateTokenBody, NewToken, TokenFile } from '../../shared/contract/tokens.js';
import { messageOf } from '../../shared/errors.js';
import { writePrivateFile } from '../../shared/private-file.js';
import { newToken, tokenDigest } from '../../shared/token-digest.js';
import { validatorOf } from '../../shared/validators.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { stopSignal } from '../stop-signals.js';
import { complain } from '../terminal/action.js';

const POLL_MS = 20;

/**
 * The service of this data directory accepts the token when this resolves, or at its next start if none is running.
 * @throws CliError
 */
export async function createLocalToken(
  dataDir: string,
  body: CreateTokenBody,
  timeoutMs: number,
): Promise<NewToken> {
  expectValid(body);
  const dir = resolve(dataDir);
  const token = newToken();
  const id = randomUUID();
  const path = join(dir, tokenFileName(id));
  leave(dir, path, { id, digest: tokenDigest(token), ...body });
  const holder = await dataDirHolder(dir);
  if (holder !== undefined) await accepted(path, holder, timeoutMs);
  else if (existsSync(path)) {
    complain(`no service uses ${dir} now; the token is valid as soon as one does`);
  }
  return {
    token,
    id,
    name: body.name,
    scopes: body.scopes,
    bots: body.bots ?? null,
    labels: body.labels ?? null,
    created_at_ms: Date.now(),
    created_by: { how: 'data_dir', token: null, name: null, address: null },
    expires_at_ms: body.expires_at_ms ?? null,
    extended_by_use: false,
    last_used_at_ms: null,
    last_used_from: null,
    by_pin: false,
    current: false,
  };
}

function expectValid(body: CreateTokenBody): void {
  const validate = validatorOf('CreateTokenBody');
  if (!validate(body)) throw new CliError(EXIT.usage, explainSchemaError('', validate.errors));
  try {
    tokenSpec(body);
  } catch (thrown) {
    throw new CliError(EXIT.usage, messageOf(thrown));
  }
}

function leave(dir: string, path: string, token: TokenFile): void {
  try {
    // Root may write anywhere, but the service's user must be able to read it.
    const owner = process.geteuid?.() === 0 ? statSync(dir) : undefined;
    writePrivateFile(path, JSON.stringify(token), owner);
  } catch (thrown) {
    throw new CliError(
      EXIT.failed,
      `cannot create a token in the data directory ${dir}: ${messageOf(thrown)}; give the directory of the service, and run this as its user or as root`,
    );
  }
}

/** Resolves when the service has taken the file. */
async function accepted(path: string, holder: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (existsSync(path)) {
    if (performance.now() > deadline || stopSignal.aborted) {
      rmSync(path, { force: true });
      throw new CliError(
        EXIT.timeout,
        `the service (${holder}) did not accept the token within ${showDuration(timeoutMs)}; its standard error says why`,
      );
    }
    await delay(POLL_MS);
  }
}
