"""How an asyncio driver is told to end: once, by the first signal, and never in the middle of its ending."""

import asyncio
import signal
from collections.abc import Awaitable

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def until_told(action: Awaitable[int]) -> int:
    """The exit code of `action`, which the first signal cancels; later ones, of whatever kind, do not disturb its ending.

    128 plus the number of that signal when `action` let itself be cancelled; 1 when nobody reads its output any more.
    """
    task = asyncio.ensure_future(action)
    told: list[int] = []

    def end(number: int) -> None:
        if not told:
            task.cancel()
        told.append(number)

    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        return 128 + told[0] if told else 1
    except BrokenPipeError:
        return 1
