"""Programs of asyncio, to be read beside the same ones in
crates/stage3-queue/examples/beside_asyncio.rs. Both print the same."""

import asyncio
import threading

SECOND = 0.2


# ANCHOR: run
async def greeting():
    await asyncio.sleep(SECOND)
    return "hello"


def run():
    print(asyncio.run(greeting()))
# ANCHOR_END: run


# ANCHOR: task
async def task():
    task = asyncio.create_task(greeting())
    print("spawned")
    print(await task)
# ANCHOR_END: task


# ANCHOR: gather
async def gather():
    print(await asyncio.gather(double(1), double(2), double(3)))


async def double(number):
    await asyncio.sleep(number * SECOND)
    return 2 * number
# ANCHOR_END: gather


# ANCHOR: group
async def group():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            number = group.create_task(double(100))
            print(await number)
    except* OSError as errors:
        for error in errors.exceptions:
            print(f"caught: {error}")


async def fails():
    await asyncio.sleep(SECOND)
    raise OSError("no route")
# ANCHOR_END: group


# ANCHOR: timeout
async def timeout():
    try:
        async with asyncio.timeout(SECOND):
            await double(2)
    except TimeoutError:
        print("too late")
# ANCHOR_END: timeout


# ANCHOR: cancel
async def cancel():
    async def careful():
        try:
            await asyncio.sleep(100 * SECOND)
        finally:
            print("the light is off")

    task = asyncio.create_task(careful())
    await asyncio.sleep(SECOND)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
# ANCHOR_END: cancel


# ANCHOR: future
async def future():
    answer = asyncio.get_running_loop().create_future()
    answer.add_done_callback(lambda answer: print("called back"))
    asyncio.get_running_loop().call_later(SECOND, answer.set_result, 42)
    print(await answer)
# ANCHOR_END: future


# ANCHOR: wait
async def wait():
    tasks = [asyncio.create_task(double(number)) for number in [3, 1, 2]]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    print(len(done), "done,", len(pending), "pending")
    for next_done in asyncio.as_completed(tasks):
        print(await next_done)
# ANCHOR_END: wait


# ANCHOR: exception
async def exception():
    async def divide(number):
        return 1 // number

    results = await asyncio.gather(divide(1), divide(0), return_exceptions=True)
    print(results[0], str(isinstance(results[1], Exception)).lower())
# ANCHOR_END: exception


# ANCHOR: queue
async def queue():
    q = asyncio.Queue()

    async def work():
        while True:
            number = await q.get()
            if number > 0:
                q.put_nowait(number - 1)
            print("did", number)
            q.task_done()

    q.put_nowait(2)
    worker = asyncio.create_task(work())
    await q.join()
    worker.cancel()
# ANCHOR_END: queue


# ANCHOR: thread
async def thread():
    loop = asyncio.get_running_loop()
    answer = loop.create_future()

    def ask():
        loop.call_soon_threadsafe(answer.set_result, "from a thread")

    threading.Thread(target=ask).start()
    print(await answer)
# ANCHOR_END: thread


async def others():
    for program in [task, gather, group, timeout, cancel, future, wait, exception, queue, thread]:
        print(f"{program.__name__}:")
        await program()


print("run:")
run()
asyncio.run(others())
