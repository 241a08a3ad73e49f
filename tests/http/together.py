"""Requests that are all under way before the first of them can be answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx


async def post_together(base_url: str, path: str, asked: Sequence[tuple[dict[str, Any], str]]) -> list[httpx.Response]:
    """Post each (body, Idempotency-Key) on a connection of its own. The last byte of every body is held back until
    the server has begun to read them all."""
    barrier = asyncio.Barrier(len(asked))

    async def held_back(data: bytes) -> AsyncIterator[bytes]:
        yield data[:-1]
        await barrier.wait()
        yield data[-1:]

    limits = httpx.Limits(max_connections=len(asked))
    async with httpx.AsyncClient(base_url=base_url, timeout=30, limits=limits) as http:
        return await asyncio.gather(
            *(
                http.post(
                    path,
                    content=held_back(json.dumps(body).encode()),
                    headers={"Idempotency-Key": key, "Content-Type": "application/json"},
                )
                for body, key in asked
            )
        )
