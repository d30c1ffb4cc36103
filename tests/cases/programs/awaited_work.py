"""Tasks that work while others await them, in three ways: awaited_work.py SECONDS"""
import asyncio
import sys
import time

END = time.monotonic() + float(sys.argv[1])


def spend():
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        sum(range(500))


async def works_awaited():
    spend()
    await asyncio.sleep(0)
    spend()


async def works_gathered():
    spend()
    await asyncio.sleep(0)
    spend()


async def works_timed():
    await asyncio.sleep(0)
    spend()


async def works_alone():
    while time.monotonic() < END:
        spend()
        await asyncio.sleep(0.01)


async def works_shared():
    await asyncio.sleep(0)
    spend()


async def awaits_task():
    await asyncio.ensure_future(works_awaited())


async def gathers():
    await asyncio.gather(works_gathered(), works_gathered())


async def waits_for():
    await asyncio.wait_for(works_timed(), 60)


async def shares(task):
    await asyncio.wait([task])


async def main():
    alone = asyncio.ensure_future(works_alone())
    while time.monotonic() < END:
        await asyncio.ensure_future(awaits_task())
        await asyncio.ensure_future(gathers())
        await asyncio.ensure_future(waits_for())
        task = asyncio.ensure_future(works_shared())
        await asyncio.gather(shares(task), shares(task))
    await alone


asyncio.new_event_loop().run_until_complete(main())
