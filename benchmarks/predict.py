"""How fast an endpoint is asked: throughput against a server that answers after a fixed time, by concurrency.

Ideal is concurrency / latency. Fails where less than the goal, 80 % of it, is reached.
    python benchmarks/predict.py [--latency 1.0] [--rounds 8] [--goal 0.8]
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from eyechart.data.pictures import Picture
from eyechart.language.prompts import PromptBatch
from eyechart.models.cache import AnswerCache, CachedBackend
from eyechart.models.endpoint import Endpoint

CONCURRENCY = (1, 4, 16, 64)
GOAL = 0.8
REPLY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
    }
).encode()
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n".encode()


def serve(latency: float, port: Connection) -> None:
    """Answer every request after the same time, however many there are."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
                await asyncio.sleep(latency)
                writer.write(HEAD + REPLY)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def show(n: int, turn: int) -> PromptBatch:
    """Write prompts never asked before, over a few small pictures, as a dataset has them."""
    pixels = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), np.uint8)
    pictures = [Picture.of(each) for each in pixels]
    prompts = [f"what is it? {turn} {i}" for i in range(n)]
    return PromptBatch(prompts, [pictures[i % len(pictures)] for i in range(n)], [None] * n)


def measure(url: str, latency: float, concurrency: int, rounds: int) -> float:
    """Tell the share of the ideal throughput that is reached, pictures and cache included."""
    endpoint = Endpoint("m", url, concurrency=concurrency)
    with tempfile.TemporaryDirectory() as folder:
        cached = CachedBackend(endpoint, AnswerCache(Path(folder) / "cache.sqlite"))
        cached.respond(show(1, -1))
        began, worked = time.perf_counter(), time.process_time()
        n = concurrency * rounds
        cached.respond(show(n, concurrency))
        took, work = time.perf_counter() - began, time.process_time() - worked
    share = n * latency / concurrency / took
    reached = f"{n / took:>9.1f}  {concurrency / latency:>9.1f}  {share:>6.0%}"
    print(f"{concurrency:>11}  {n:>6}  {took:>7.2f}  {reached}  {1000 * work / n:>10.1f}")
    return share


def main() -> None:
    """Measure every concurrency."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--latency", type=float, default=1.0, help="seconds the server takes for an answer")
    parser.add_argument("--rounds", type=int, default=8, help="calls for each that is open at a time")
    parser.add_argument("--goal", type=float, default=GOAL, help="the share of ideal that must be reached")
    given = parser.parse_args()
    hear, tell = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.Process(target=serve, args=(given.latency, tell), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{hear.recv()}/v1"
    print(f"latency {given.latency} s\nconcurrency   calls  seconds  calls / s      ideal   share  CPU ms / n")
    shares = [measure(url, given.latency, concurrency, given.rounds) for concurrency in CONCURRENCY]
    server.kill()
    if min(shares) < given.goal:
        raise SystemExit(f"under {given.goal:.0%} of ideal")


if __name__ == "__main__":
    main()
