// Runs in the bus thread. Reads frames that have left JetStream's window from the journals of the nodes, for streams that resume: each
// has those that it has published.

import type { ReplayPart, ReplayRequest } from '../../shared/contract/journal-messages.js';
import type { NameHasher } from '../../shared/contract/name-hash.js';
import { DroverError } from '../../shared/errors.js';
import type { NodeNamesWriter } from '../../shared/memory/node-names.js';
import type { Cut } from '../../shared/stream/replay-cut.js';
import { type Block, decodeBlock } from './block.js';
import {
  type FramesAnswerHead,
  type FramesQuestion,
  MAX_BLOCK_BYTES,
  MAX_BLOCKS,
  splitHead,
} from './history-messages.js';
import { type HistoryNodes, readAnswers } from './history-nodes.js';
import { WindowBlock } from './window-block.js';

export interface JournalReplayParts {
  nodes: Pick<HistoryNodes, 'of' | 'ask' | 'isLive'>;
  hasher: NameHasher;
  names: NodeNamesWriter;
}

interface Found {
  first: number;
  block: Block;
}

/**
 * A part from the number that is asked for. When that frame is in no journal that answers, a part without frames, which begins at the
 * next one that is: what is in between is declared as lost. @param before the number at which JetStream's window begins: the part ends
 * there. @throws DroverError when a live node does not answer.
 */
export async function replayFromJournals(
  { nodes, hasher, names }: JournalReplayParts,
  epoch: string,
  request: ReplayRequest,
  before: number,
  cut: Cut,
): Promise<ReplayPart> {
  const { from, maxBytes } = request;
  const question: FramesQuestion = { kind: 'frames', epoch, from, maxBytes };
  const asked = nodes.of(null, null).map((node) => [node, question] as const);
  const { answers, faults } = readAnswers(await nodes.ask(new Map(asked)), blocksOf);
  // One that is there will answer: streams ask again. What a node has that is lost is declared as lost.
  for (const [node, fault] of faults) if (nodes.isLive(node)) throw fault;
  const found: Found[] = [];
  // Below this number, every frame that is not found is in no journal that answers.
  let known = before;
  for (const { answer } of answers) {
    known = Math.min(known, answer.upTo ?? before);
    found.push(...answer.found);
  }
  found.sort((one, other) => one.first - other.first);
  let next = from;
  for (const { first, block } of found) {
    if (first >= known || first + block.frames.length <= next) continue;
    if (first > next) {
      // The next request begins at the hole.
      return next > from ? cut.part(from, next) : cut.part(first, first);
    }
    const end = Math.min(known, first + block.frames.length);
    const usable = { head: block.head, frames: block.frames.slice(0, end - first) };
    next = cut.take(new WindowBlock(usable, first, { epoch, hasher, nodes: names }), next);
    if (next < end) break;
  }
  if (next > from) return cut.part(from, next);
  return cut.part(known, known);
}

function blocksOf(bytes: Buffer): Pick<FramesAnswerHead, 'upTo'> & { found: Found[] } {
  const { head, rest } = splitHead<FramesAnswerHead>('frames', bytes);
  if (head.blocks.length > MAX_BLOCKS) throw tooMuch(`it has more than ${MAX_BLOCKS} blocks`);
  let at = 0;
  let size = 0;
  const found = head.blocks.map(({ first, bytes: length }) => {
    const block = decodeBlock(rest.subarray(at, at + length));
    at += length;
    size += block.body.length;
    if (size > MAX_BLOCK_BYTES) {
      throw tooMuch(`its blocks have more than ${MAX_BLOCK_BYTES} bytes`);
    }
    return { first, block };
  });
  return { upTo: head.upTo, found };
}

function tooMuch(why: string): DroverError {
  return new DroverError('bad_request', why);
}
