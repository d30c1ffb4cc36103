# An asyncio task, four coroutines deep, dies after a real suspension.
import asyncio

import witness


class Service:
    async def handle(self, depth):
        if depth:
            return await self.handle(depth - 1)
        await asyncio.sleep(0.01)
        witness.die()


async def other():
    await asyncio.sleep(600)


async def main():
    waiting = asyncio.ensure_future(other())
    task = asyncio.ensure_future(Service().handle(3))
    await task
    await waiting


asyncio.run(main())
