// Runs in a bot host. Protocol mcp: an MCP server over standard input and output, of which this is the client. Its tools are the
// bot's commands. https://modelcontextprotocol.io/specification

import { BotError } from '../../bot-sdk/bot-error.js';
import type { CommandCall } from '../../bot-sdk/index.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { messageOf } from '../../shared/errors.js';
import { VERSION } from '../../shared/version.js';
import type { ChildProgram } from './child-program.js';
import { ERRORS, isObject, RequestError } from './json-rpc.js';
import { definedCommands, RpcSession } from './rpc-session.js';
import { type CommandInfo, commandsOf, type Protocol } from './session.js';

/** Versions of MCP whose tools and messages are those that are used here; the newest is asked for. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
/** Pages of tools that are read: a server may name a next page without end. */
const MAX_PAGES = 100;
/** Levels of MCP, which are those of syslog. */
const LEVELS: Readonly<Record<string, 'info' | 'warn' | 'error'>> = {
  warning: 'warn',
  error: 'error',
  critical: 'error',
  alert: 'error',
  emergency: 'error',
};

export const MCP: Protocol = {
  commands: definedCommands,
  open: (ctx, program) => new McpSession(ctx, program),
};

class McpSession extends RpcSession {
  /** The list of tools has changed while it was read. */
  #isStale = false;
  #isListing = false;

  stdoutEnded(): void {
    this.child?.failIfMute('the MCP server has closed its standard output, and runs on');
  }

  end(child: ChildProgram): string | null {
    return this.endOf(child, 'the MCP server', 'before it was initialized');
  }

  async call(tool: string, args: JsonObject, call: CommandCall): Promise<Json> {
    if (!this.isReady) throw new Error('the MCP server is not initialized yet');
    const params = { name: tool, arguments: args };
    const answer = await this.request('tools/call', params, call, (requestId) => {
      const reason = messageOf(call.signal.reason);
      this.rpc.notify('notifications/cancelled', { requestId, reason });
    });
    return resultOf(answer);
  }

  protected async serve(method: string): Promise<Json> {
    if (method === 'ping') return {};
    throw new RequestError(ERRORS.unknownMethod, `this client has no ${method}`);
  }

  protected async initialize(child: ChildProgram): Promise<void> {
    const withinMs = this.startMs;
    let step = 'initialize';
    const cancel = child.after(withinMs, () => {
      child.fail(`the MCP server did not answer ${step} within ${withinMs} ms`);
    });
    try {
      const result = await this.#ask('initialize', {
        protocolVersion: VERSIONS[0] as string,
        capabilities: {},
        clientInfo: { name: 'drover', version: VERSION },
      });
      const version = result['protocolVersion'];
      if (!VERSIONS.includes(version as string)) {
        throw new Error(
          `it speaks MCP ${JSON.stringify(version)}; this client speaks ${VERSIONS.join(', ')}`,
        );
      }
      this.rpc.notify('notifications/initialized', {});
      const capabilities = isObject(result['capabilities']) ? result['capabilities'] : {};
      step = 'tools/list';
      await this.#listTools(capabilities['tools'] !== undefined);
      // Its answer says nothing.
      if (capabilities['logging'] !== undefined) {
        this.#ask('logging/setLevel', { level: 'info' }).catch(() => {});
      }
    } catch (thrown) {
      child.fail(`the MCP server cannot be used: ${step}: ${messageOf(thrown)}`);
      return;
    } finally {
      cancel();
    }
    this.isReady = true;
    this.ctx.setStatus('running');
  }

  /** @throws BotError */
  async #ask(method: string, params: JsonObject): Promise<JsonObject> {
    const result = await this.rpc.request(method, params).result;
    if (!isObject(result)) throw new BotError('its result is no object');
    return result;
  }

  /** @throws Error for tools that cannot be commands. */
  async #listTools(hasTools: boolean): Promise<void> {
    const tools: Record<string, CommandInfo> = {};
    let cursor: string | undefined;
    for (let page = 0; hasTools && page < MAX_PAGES; page++) {
      const params: JsonObject = cursor === undefined ? {} : { cursor };
      const { tools: listed, nextCursor } = await this.#ask('tools/list', params);
      for (const tool of Array.isArray(listed) ? listed : []) addTool(tools, tool);
      if (typeof nextCursor !== 'string' || nextCursor === '') break;
      cursor = nextCursor;
    }
    this.ctx.offerCommands(commandsOf(tools));
  }

  /** One list is read at a time, however often it changes. */
  async #listAgain(): Promise<void> {
    this.#isStale = true;
    if (this.#isListing || !this.isReady) return;
    this.#isListing = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        await this.#listTools(true);
      }
    } catch (thrown) {
      this.ctx.log.warn(`the tools stay as they were: tools/list: ${messageOf(thrown)}`);
    } finally {
      this.#isListing = false;
    }
  }

  protected notified(method: string, params: JsonObject): void {
    if (method === 'notifications/tools/list_changed') void this.#listAgain();
    else if (method === 'notifications/message') {
      const { level, logger, data = null } = params;
      const log = this.ctx.log.scope(typeof logger === 'string' ? logger : 'mcp');
      log[LEVELS[String(level)] ?? 'info'](typeof data === 'string' ? data : JSON.stringify(data));
    }
    // Others, such as progress, are for clients that asked for them.
  }
}

function addTool(tools: Record<string, CommandInfo>, tool: Json): void {
  if (!isObject(tool) || typeof tool['name'] !== 'string') {
    throw new Error(`a tool has no name: ${JSON.stringify(tool).slice(0, 100)}`);
  }
  const { name, description, inputSchema } = tool;
  tools[name] = {
    description: typeof description === 'string' ? description : '',
    args: isObject(inputSchema) ? inputSchema : { type: 'object' },
  };
}

/** The result of a tool without what is for protocols only. @throws BotError when the tool has failed. */
function resultOf(answer: Json): Json {
  if (!isObject(answer)) return answer;
  const { _meta: _, isError, ...result } = answer;
  if (isError !== true) return result;
  throw new BotError(textOf(result['content']) || 'the tool has failed without a reason');
}

function textOf(content: Json | undefined): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .filter((part) => part !== '')
    .join(' ');
}
