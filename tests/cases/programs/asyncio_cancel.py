# A cancelled asyncio task dies in its handler: 3.9 loses part of the frame chain here.
import asyncio

import witness

outer = []


async def leaf():
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        finish()


def finish():
    # The event loop's frames are the same for every callback.
    witness.die(deep=True, outer=outer)


async def middle():
    await leaf()


async def main():
    task = asyncio.ensure_future(middle())
    await asyncio.sleep(0.01)
    asyncio.get_running_loop().call_soon(lambda: outer.extend(witness.stack_here()[1:]))
    await asyncio.sleep(0.01)
    task.cancel()
    await task


asyncio.run(main())
