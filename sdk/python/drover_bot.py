"""Bots for Drover in Python: protocol jsonl, version 1 (docs/STDIO.md). One file, no dependencies, Python 3.9 and later.

    from drover_bot import Bot

    bot = Bot()

    @bot.command
    def add(a: int, b: int = 1) -> int:
        "Adds two numbers."
        return a + b

    bot.run()

Threads: the main thread runs the asyncio loop, for functions with `async def`. Each other function has its own thread. A reader thread
takes what the host sends. What the program writes to its standard output becomes `info` lines; its standard input is empty.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import contextvars
import inspect
import io
import json
import os
import re
import sys
import threading
import traceback
import typing
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Set, TypeVar, Union

__all__ = ["Bot", "BotError", "Response", "PROTOCOL"]

PROTOCOL = 1
"""Version of the protocol."""
MAX_LINE_BYTES = 1 << 20
"""Longest line in either direction, without its end. Longer log messages are cut; longer results are errors."""
MAX_COMMANDS = 64
"""Commands that run at once. Further ones are refused with an error."""
MAX_FETCHES = 64
"""Requests of `fetch` that wait at once. Further ones raise BotError."""
MAX_SENT = 1000
"""Messages that `Bot.sent` keeps. Older ones are dropped."""
STOP_SECONDS = 2.0
"""How long `main` and the stop hooks have after a stop."""
TOO_LONG = f"a line has more than {MAX_LINE_BYTES} bytes"
LEVELS = ("info", "warn", "error", "state")

F = TypeVar("F", bound=Callable[..., Any])
Json = Dict[str, Any]

_current: contextvars.ContextVar[Optional["_Call"]] = contextvars.ContextVar("drover_call", default=None)


class BotError(Exception):
    """An error whose text is for the caller of a command. It leaves no traceback in the log."""

    def __init__(self, message: str, code: int = -32000, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Response:
    """The answer of `fetch`."""

    def __init__(self, answer: Json) -> None:
        self.status: int = answer["status"]
        self.headers: Dict[str, str] = answer.get("headers", {})
        body = answer.get("body", "")
        self.body: bytes = base64.b64decode(body) if answer.get("base64") else body.encode()

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        return json.loads(self.body)


class _Call:
    """A command that runs, `main`, or a stop hook. Its thread or task and the reader thread share it."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.task: Optional[concurrent.futures.Future[Any]] = None
        self.waits: Set[concurrent.futures.Future[Any]] = set()

    def cancel(self) -> None:
        self.over.set()
        for future in [self.task, *list(self.waits)]:
            if future is not None:
                future.cancel()


class _Command:
    def __init__(self, name: str, function: Callable[..., Any], description: str, args: Optional[Json]) -> None:
        self.name = name
        self.function = function
        self.description = description
        self.given = args
        self.args: Json = args or {}

    def declare(self) -> Json:
        self.args = self.given if self.given is not None else schema_of(self.function)
        return {"description": self.description, "args": self.args}


class Bot:
    """One bot: this program. Create it first: in the main script, everything that is printed after that becomes lines of the bot."""

    def __init__(self) -> None:
        self.id = ""
        """Set before `main` starts, like `kind` and `config`."""
        self.kind = ""
        self.config: Json = {}
        self.sent: Deque[Json] = deque(maxlen=MAX_SENT)
        """For tests: the messages that would be sent, while there is no host."""
        self._commands: Dict[str, _Command] = {}
        self._main: Optional[Callable[..., Any]] = None
        self._hooks: List[Callable[..., Any]] = []
        self._out: Optional[int] = None
        self._input = -1
        self._write_lock = threading.Lock()
        self._lock = threading.Lock()
        self._calls: Dict[Any, _Call] = {}
        self._waits: Dict[str, concurrent.futures.Future[Any]] = {}
        self._last_request = 0
        self._is_initialized = False
        self._stopping = threading.Event()
        self._pump: Optional[threading.Thread] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._exit: asyncio.Future[int]
        # Imported by a test, or run by hand: its output is not redirected.
        if sys._getframe(1).f_globals.get("__name__") == "__main__" and not os.isatty(1):
            self._take_over()

    # What the author of a bot declares.

    def command(self, function: Optional[F] = None, *, name: Optional[str] = None, description: Optional[str] = None,
                args: Optional[Mapping[str, Any]] = None) -> Any:
        """Makes a function, also one with `async def`, a command. It can still be called as before.

        args: JSON Schema of an object; by default it is derived from the type hints. The default of description is the first
        paragraph of the docstring.
        """

        def add(one: F) -> F:
            known_as = name or one.__name__
            if known_as in self._commands:
                raise ValueError(f"there are two commands {known_as!r}")
            text = description if description is not None else re.split(r"\n\s*\n", inspect.getdoc(one) or "")[0]
            schema = None if args is None else dict(args)
            self._commands[known_as] = _Command(known_as, one, " ".join(text.split()), schema)
            return one

        return add if function is None else add(function)

    def main(self, function: F) -> F:
        """Makes a function, also one with `async def`, what the bot does. When it returns, the bot is done; without one the bot runs
        until it is stopped. At a stop an async one is cancelled, and `sleep` returns False."""
        self._main = function
        return function

    def on_stop(self, function: F) -> F:
        """Calls a function, also one with `async def`, when the bot ends. With `main` it has STOP_SECONDS in all."""
        self._hooks.append(function)
        return function

    # What the author of a bot uses while it runs.

    def log(self, message: object, level: str = "info", scope: Optional[str] = None) -> None:
        """Writes a line of the bot. level: info, warn, error, or state for a line about the bot's own state."""
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        self._notify("log", {"level": level, "message": _cut(str(message))}, scope)

    def wire(
        self,
        transport: str,
        direction: str,
        message: object,
        scope: Optional[str] = None,
        correlation_id: Optional[str] = None,
    ) -> None:
        """Writes a line that shows a message on the network. transport: tcp or http. direction: outgoing or incoming.

        correlation_id: the same for a request and its replies.
        """
        if transport not in ("tcp", "http"):
            raise ValueError(f"transport must be tcp or http, not {transport!r}")
        if direction not in ("outgoing", "incoming"):
            raise ValueError(f"direction must be outgoing or incoming, not {direction!r}")
        params = {"transport": transport, "direction": direction, "message": _cut(str(message))}
        if correlation_id is not None:
            params["correlation_id"] = str(correlation_id)
        self._notify("wire", params, scope)

    def status(self, status: str) -> None:
        """Sets the status of the bot."""
        self._notify("status", {"status": status})

    def data(self, patch: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Merges into the data of the bot's snapshot; None removes a field."""
        self._notify("data", {"patch": {**(patch or {}), **more}})

    def fetch(self, url: str, method: str = "GET", headers: Optional[Mapping[str, str]] = None, body: Optional[str] = None,
              scope: Optional[str] = None, timeout_ms: Optional[int] = None) -> Response:
        """Sends an HTTP request through the host, which logs it and keeps to `network.allow`. Raises BotError."""
        self._expect_thread("await bot.fetch_async(...)")
        return Response(self._request("fetch", _fetch_params(url, method, headers, body, scope, timeout_ms)).result())

    async def fetch_async(self, url: str, method: str = "GET", headers: Optional[Mapping[str, str]] = None,
                          body: Optional[str] = None, scope: Optional[str] = None,
                          timeout_ms: Optional[int] = None) -> Response:
        """Like `fetch`, for async functions."""
        future = self._request("fetch", _fetch_params(url, method, headers, body, scope, timeout_ms))
        return Response(await asyncio.wrap_future(future))

    def sleep(self, seconds: float) -> bool:
        """Waits; async functions use asyncio.sleep instead. Returns False, at once, when the bot stops or the command that waits
        is cancelled: `while bot.sleep(1): ...`"""
        self._expect_thread("await asyncio.sleep(...)")
        call = _current.get()
        return not (call.over if call else self._stopping).wait(seconds)

    @property
    def cancelled(self) -> bool:
        """Whether the bot is stopping, or the calling command was cancelled."""
        call = _current.get()
        return (call.over if call else self._stopping).is_set()

    def run(self) -> None:
        """Serves the host until the bot is done or is stopped, and ends the program."""
        if os.isatty(0 if self._out is None else self._input):
            script = sys.argv[0] or "bot.py"
            sys.exit(f"{script} is a bot: a Drover service runs it. To try it: drover kinds test {script}")
        if self._out is None:
            self._take_over()
        code = asyncio.run(self._serve())
        sys.stdout.flush()
        self._end_output()
        sys.exit(code)

    def _expect_thread(self, instead: str) -> None:
        if self._loop is not None and threading.current_thread() is threading.main_thread():
            raise RuntimeError(f"this would block all async functions: use {instead}")

    # The host's side.

    async def _serve(self) -> int:
        self._loop = asyncio.get_running_loop()
        self._exit = self._loop.create_future()
        threading.Thread(target=self._read, name="drover-reader", daemon=True).start()
        code = await self._exit
        self._stopping.set()
        with self._lock:
            calls = list(self._calls.values())
        hooks = [self._begin(hook, (), {}, _Call()) for hook in self._hooks]
        for call in calls:
            call.cancel()
        ending = [asyncio.wrap_future(one) for one in [*hooks, *(call.task for call in calls if call.task)]]
        if ending:
            done, late = await asyncio.wait(ending, timeout=STOP_SECONDS)
            for one in done:
                # Reported elsewhere; asyncio would report it again.
                if not one.cancelled():
                    one.exception()
            if late:
                self.log(f"{len(late)} of its functions still ran {STOP_SECONDS:g} s after the stop", "warn")
        for hook in hooks:
            error = None if not hook.done() or hook.cancelled() else hook.exception()
            if error is not None:
                self._tell(error)
        return code

    def _ends(self, code: int) -> None:
        """Ends the program with this exit code, unless it ends already. From any thread."""

        def end() -> None:
            if not self._exit.done():
                self._exit.set_result(code)

        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(end)
            except RuntimeError:
                pass  # The loop is closed: the program ends already.

    def _read(self) -> None:
        rest = b""
        is_skipping = False
        while True:
            try:
                chunk = os.read(self._input, 1 << 16)
            except OSError:
                chunk = b""
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if is_skipping:
                    is_skipping = False
                elif len(line) > MAX_LINE_BYTES:
                    self._answer(None, error=BotError(TOO_LONG, -32700))
                else:
                    self._take(line)
            if len(rest) > MAX_LINE_BYTES:
                rest = b""
                if not is_skipping:
                    self._answer(None, error=BotError(TOO_LONG, -32700))
                is_skipping = True
        # The host is gone.
        self._ends(0)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line.decode("utf-8"))
        except ValueError as error:
            self._answer(None, error=BotError(f"not a JSON line: {error}", -32700))
            return
        if not isinstance(message, dict):
            self._answer(None, error=BotError("not a JSON object", -32600))
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if "method" not in message:
            self._settle(message)
        elif "id" in message:
            self._asked(message["method"], params, message["id"])
        elif message["method"] == "cancel":
            with self._lock:
                call = self._calls.get(params.get("id"))
            if call:
                call.cancel()
        elif message["method"] == "stop":
            self._ends(0)

    def _asked(self, method: str, params: Json, request: Any) -> None:
        try:
            if method == "initialize":
                self._answer(request, result=self._initialize(params))
                self._start_main()
            elif method == "command":
                self._invoke(params, request)
            else:
                raise BotError(f"there is no method {method}", -32601)
        except BotError as error:
            self._answer(request, error=error)
        except Exception as error:  # A schema that cannot be derived, for example.
            self._tell(error)
            self._answer(request, error=BotError(_summary(error)))

    def _initialize(self, params: Json) -> Json:
        if params.get("protocol") != PROTOCOL:
            raise BotError(f"the protocol must be {PROTOCOL}, not {params.get('protocol')!r}", -32602)
        self.id = str(params.get("id", ""))
        self.kind = str(params.get("kind", ""))
        self.config = params.get("config") or {}
        return {"commands": {name: command.declare() for name, command in self._commands.items()}}

    def _start_main(self) -> None:
        if self._main is None or self._is_initialized:
            return
        self._is_initialized = True
        call = _Call()
        with self._lock:
            self._calls[call] = call

        def ended(task: concurrent.futures.Future[Any]) -> None:
            error = None if task.cancelled() else task.exception()
            if error is None or isinstance(error, (asyncio.CancelledError, concurrent.futures.CancelledError)):
                self._ends(0)
                return
            if isinstance(error, SystemExit):
                self._ends(error.code if isinstance(error.code, int) else 0 if error.code is None else 1)
                return
            self._tell(error)
            # The host shows the last lines of standard error with the exit code.
            print(_summary(error), file=sys.stderr, flush=True)
            self._ends(1)

        self._begin(self._main, (), {}, call).add_done_callback(ended)

    def _invoke(self, params: Json, request: Any) -> None:
        name = params.get("command")
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            known = ", ".join(self._commands) or "none"
            raise BotError(f"there is no command {name!r}; there are: {known}", -32601)
        args = params.get("args", {})
        fault = _fault(command.args, args, "args")
        if fault:
            raise BotError(fault, -32602)
        call = _Call()
        with self._lock:
            if len(self._calls) >= MAX_COMMANDS:
                raise BotError(f"{MAX_COMMANDS} commands are already running")
            self._calls[request] = call

        def ended(task: concurrent.futures.Future[Any]) -> None:
            with self._lock:
                self._calls.pop(request, None)
            error = BotError("cancelled", -32800) if task.cancelled() else task.exception()
            if error is None:
                self._answer(request, result=task.result())
                return
            is_cancelled = isinstance(error, (asyncio.CancelledError, concurrent.futures.CancelledError))
            if not isinstance(error, BotError) and not is_cancelled:
                self._tell(error)
            self._answer(request, error=error if isinstance(error, BotError) else BotError(_summary(error)))

        self._begin(command.function, (), args, call).add_done_callback(ended)

    def _begin(self, function: Callable[..., Any], args: Any, named: Json, call: _Call) -> concurrent.futures.Future[Any]:
        """Runs an async function on the loop, another one in its own thread."""
        if inspect.iscoroutinefunction(function):

            async def awaited() -> Any:
                _current.set(call)
                return await function(*args, **named)

            assert self._loop is not None
            call.task = asyncio.run_coroutine_threadsafe(awaited(), self._loop)
            return call.task
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        # From now on cancel() has no effect: a thread cannot be ended. The function looks at `cancelled` or `sleep`.
        future.set_running_or_notify_cancel()
        call.task = future

        def work() -> None:
            _current.set(call)
            try:
                result = function(*args, **named)
            except BaseException as error:  # Also SystemExit: only run() ends the program.
                future.set_exception(error)
            else:
                future.set_result(result)

        # Not from a pool: Python waits for those when it exits.
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
        return future

    def _request(self, method: str, params: Json) -> concurrent.futures.Future[Any]:
        if self._out is None:
            raise BotError(f"{method} needs a host: the bot is not running")
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        call = _current.get()
        with self._lock:
            if len(self._waits) >= MAX_FETCHES:
                raise BotError(f"{MAX_FETCHES} requests are already waiting")
            self._last_request += 1
            request = f"p{self._last_request}"
            self._waits[request] = future
        if call:
            call.waits.add(future)
            if call.over.is_set():
                future.cancel()

        def settled(_: concurrent.futures.Future[Any]) -> None:
            with self._lock:
                self._waits.pop(request, None)
            if call:
                call.waits.discard(future)

        future.add_done_callback(settled)
        try:
            self._send({"id": request, "method": method, "params": params})
        except BotError:
            future.cancel()
            raise
        return future

    def _settle(self, message: Json) -> None:
        with self._lock:
            future = self._waits.get(message.get("id", ""))
        if future is None or not future.set_running_or_notify_cancel():
            return
        error = message.get("error")
        if isinstance(error, dict):
            text = str(error.get("message", "unknown error"))
            future.set_exception(BotError(text, error.get("code", -32000), error.get("data")))
        else:
            future.set_result(message.get("result"))

    def _answer(self, request: Any, result: Any = None, error: Optional[BotError] = None) -> None:
        if error is not None:
            fault: Json = {"code": error.code, "message": str(error)}
            if error.data is not None:
                fault["data"] = error.data
            self._send({"id": request, "error": fault})
            return
        try:
            self._send({"id": request, "result": result})
        except BotError as refused:
            self._send({"id": request, "error": {"code": -32000, "message": f"the result {refused}"}})

    def _tell(self, error: BaseException) -> None:
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        self.log("".join(lines).rstrip(), "error")

    def _notify(self, method: str, params: Json, scope: Optional[str] = None) -> None:
        if scope is not None:
            params["scope"] = scope
        try:
            self._send({"method": method, "params": params})
        except BotError as error:
            raise BotError(f"{method} {error}") from None

    def _send(self, message: Json) -> None:
        """Raises BotError when it is not JSON or too long. Waits while the host does not read."""
        if self._out is None:
            self.sent.append(message)
            return
        try:
            text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            raise BotError(f"is not JSON: {error}") from None
        line = text.encode("utf-8", "replace")
        if len(line) > MAX_LINE_BYTES:
            raise BotError(f"has more than {MAX_LINE_BYTES} bytes")
        view = memoryview(line + b"\n")
        with self._write_lock:
            try:
                while view:
                    view = view[os.write(self._out, view):]
            except OSError:
                # The host is gone: the reader ends the program.
                pass

    # Standard input and output.

    def _take_over(self) -> None:
        """Keeps both for the protocol. Bytes written to descriptor 1 from now on, also by child processes, become lines."""
        sys.stdout.flush()
        self._input, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        end, begin = os.pipe()
        os.dup2(begin, 1)
        os.close(begin)
        self._pump = threading.Thread(target=self._pump_output, args=(end,), name="drover-output", daemon=True)
        self._pump.start()
        # Not through the pipe: lines stay in the order in which print() and log() were called.
        sys.stdout = _Printed(lambda line: self.log(line))

    def _pump_output(self, end: int) -> None:
        rest = b""
        while True:
            chunk = os.read(end, 1 << 16)
            *lines, rest = (rest + chunk).split(b"\n")
            if rest and (not chunk or len(rest) > MAX_LINE_BYTES):
                lines.append(rest)
                rest = b""
            for line in lines:
                self.log(line.decode("utf-8", "replace").rstrip("\r"))
            if not chunk:
                return

    def _end_output(self) -> None:
        """Sends what was written to descriptor 1. A child process that still has it is not waited for."""
        os.dup2(2, 1)
        if self._pump:
            self._pump.join(0.2)


class _Printed(io.TextIOBase):
    """Makes lines of what is printed. A line without an end waits for it, up to MAX_LINE_BYTES characters."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._rest = ""
        self._lock = threading.RLock()
        self.buffer = io.FileIO(1, "wb", closefd=False)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            if len(self._rest) > MAX_LINE_BYTES:
                lines.append(self._rest)
                self._rest = ""
            for line in lines:
                self._line(line)
        return len(text)

    def flush(self) -> None:
        """A line that has not ended is shown when the program ends, or flushes: print(..., end="", flush=True)."""
        with self._lock:
            if self._rest:
                self._line(self._rest)
                self._rest = ""


def _cut(text: str) -> str:
    """Room for the rest of the line, and for characters of several bytes."""
    limit = MAX_LINE_BYTES // 8
    return text if len(text) <= limit else f"{text[:limit]}… (cut, {len(text)} characters)"


def _summary(error: BaseException) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _fetch_params(url: str, method: str, headers: Optional[Mapping[str, str]], body: Optional[str], scope: Optional[str],
                  timeout_ms: Optional[int]) -> Json:
    params: Json = {"url": url, "method": method}
    for key, value in (("headers", headers), ("body", body), ("scope", scope), ("timeout_ms", timeout_ms)):
        if value is not None:
            params[key] = value
    return params


# Schemas from type hints, and what they are checked with. A schema that is given may say more; the host checks all of it.

_TYPES: Dict[Any, Json] = {
    str: {"type": "string"}, int: {"type": "integer"}, float: {"type": "number"}, bool: {"type": "boolean"},
    type(None): {"type": "null"}, list: {"type": "array"}, dict: {"type": "object"}, Any: {}, inspect.Parameter.empty: {},
}
_IS: Dict[str, Callable[[Any], bool]] = {
    "string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool), "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "array": lambda v: isinstance(v, list), "object": lambda v: isinstance(v, dict),
}


def schema_of(function: Callable[..., Any]) -> Json:
    """JSON Schema of an object with the parameters of a function. Raises TypeError for a hint that has none.

    Hints: str, int, float, bool, None, list, dict, List[x], Dict[str, x], Optional, Union, Literal, Any, and Annotated[x, ...] with a
    description or a dict with more keywords.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    schema: Json = {"type": "object", "properties": {}, "additionalProperties": False}
    required = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            schema["additionalProperties"] = True
        elif parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(f"the parameter {name} of {function.__name__} cannot be given by name")
        else:
            one = _hint_schema(hints.get(name, Any), f"{function.__name__}({name})")
            if parameter.default is parameter.empty:
                required.append(name)
            elif parameter.default is None or type(parameter.default) in (str, int, float, bool, list, dict):
                one = {**one, "default": parameter.default}
            schema["properties"][name] = one
    return {**schema, "required": required} if required else schema


def _hint_schema(hint: Any, where: str) -> Json:
    try:
        if hint in _TYPES:
            return dict(_TYPES[hint])
    except TypeError:  # It cannot be hashed.
        pass
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema = _hint_schema(inner[0], where)
        for more in inner[1:]:
            schema.update({"description": more} if isinstance(more, str) else more if isinstance(more, dict) else {})
        return schema
    if origin is typing.Literal:
        return {"enum": list(inner)}
    # The second is `int | None`, since Python 3.10.
    if origin is Union or type(hint).__name__ == "UnionType":
        return {"anyOf": [_hint_schema(one, where) for one in inner]}
    if origin in (list, dict) and not inner:
        return dict(_TYPES[origin])
    if origin is list:
        return {"type": "array", "items": _hint_schema(inner[0], where)}
    if origin is dict and inner[0] is str:
        return {"type": "object", "additionalProperties": _hint_schema(inner[1], where)}
    raise TypeError(f"{where}: there is no schema for {hint!r}; give the command args={{...}}")


_LIMITS = (
    ("minimum", lambda v, limit: v >= limit, (int, float), "must be >= {}"),
    ("maximum", lambda v, limit: v <= limit, (int, float), "must be <= {}"),
    ("minLength", lambda v, limit: len(v) >= limit, str, "must have {} characters at least"),
    ("maxLength", lambda v, limit: len(v) <= limit, str, "must have {} characters at most"),
    ("minItems", lambda v, limit: len(v) >= limit, list, "must have {} items at least"),
    ("maxItems", lambda v, limit: len(v) <= limit, list, "must have {} items at most"),
)


def _fault(schema: Any, value: Any, path: str) -> Optional[str]:
    """What is wrong with a value, in a line. Keywords that it does not know are the host's."""
    if not isinstance(schema, dict):
        return f"{path} is not allowed" if schema is False else None
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_IS[one](value) for one in types if one in _IS):
        return f"{path} must be {' or '.join(types)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} must be one of {', '.join(map(str, schema['enum']))}"
    options = schema.get("anyOf")
    if options:
        faults = [_fault(one, value, path) for one in options]
        if all(faults):
            return " or ".join(dict.fromkeys(fault for fault in faults if fault))
    for keyword, holds, kind, words in _LIMITS:
        if keyword in schema and isinstance(value, kind) and not holds(value, schema[keyword]):
            return f"{path} {words.format(schema[keyword])}"
    if isinstance(value, list):
        for at, item in enumerate(value):
            fault = _fault(schema.get("items"), item, f"{path}[{at}]")
            if fault:
                return fault
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                return f"{path}.{key} is missing"
        for key, item in value.items():
            if key not in known and schema.get("additionalProperties") is False:
                return f"unknown key {path}.{key}"
            fault = _fault(known.get(key, schema.get("additionalProperties")), item, f"{path}.{key}")
            if fault:
                return fault
    return None
