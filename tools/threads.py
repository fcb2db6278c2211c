"""Blocking functions beside the event loop, in threads that do not hold up the end of the process."""

import asyncio
import contextlib
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a blocking function in a daemon thread of its own and wait for it.

    ``asyncio.to_thread`` would do, but the interpreter waits for its threads: a tool that was given up (time-out,
    Ctrl-C) and hangs would keep the process from ending.

    Raises:
        Exception: whatever the function raised; what is none (``sys.exit`` above all), as a ``RuntimeError``.
        asyncio.CancelledError: passed on at once; the thread goes on by itself.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)

    def tell(setter: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            setter(value)

    def work() -> None:
        try:
            value = call()
        except BaseException as error:
            # a StopIteration can not be set on a future; what is no Exception would end the event loop, and whoever
            # waits would wait for ever, or look like a cancellation
            odd = isinstance(error, StopIteration) or not isinstance(error, Exception)
            told = RuntimeError(repr(error)) if odd else error
            report = (done.set_exception, told)
        else:
            report = (done.set_result, value)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *report)

    threading.Thread(target=work, name=f"tool {getattr(function, '__name__', '')}", daemon=True).start()
    return await done
