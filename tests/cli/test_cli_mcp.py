"""The MCP server, asked by the SDK's own client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

KVGATE = str(Path(sys.executable).parent / "kvgate")


async def ask(calls: list[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[Any]]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=KVGATE, args=["mcp"])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        return tools, [await session.call_tool(name, arguments) for name, arguments in calls]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_an_agent_gets_the_answers_of_the_commands() -> None:
    tools, answers = asyncio.run(
        ask(
            [
                ("size", {"model": "Qwen/Qwen3-Next-80B-A3B-Instruct"}),
                (
                    "check",
                    {
                        "deployment": "vllm serve google/gemma-4-31B-it "
                        "--attention-backend FLASHINFER",
                        "gpu": "RTX PRO 6000",
                        "engine": "vllm==0.19.1",
                    },
                ),
                ("show", {"record_id": "no-such-record"}),
            ]
        )
    )
    assert set(tools) == {"check", "diagnose", "size", "backends", "search", "show"}
    sized, checked, missing = answers
    assert json.loads(sized.content[0].text)["kv"]["bytes_per_token"] == 24576
    assert "flashinfer-rejects-large-head-dim" in checked.content[0].text
    assert missing.is_error
    assert "no-such-record" in missing.content[0].text
