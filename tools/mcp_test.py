#!/usr/bin/env python3
"""The official library of the Model Context Protocol talks with our server, and our client with its servers.

    tools/mcp_test.py PROBE SKALD

The library is the one of mcp_requirements.txt. PROBE is skald_mcp_probe, SKALD
the program itself, whose `skald mcp` is talked with on a mailbox of ours. Started as `mcp_test.py serve TRANSPORT` by the library's python, this file is a server made with the library.
"""
import asyncio
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import python_library

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_MAX = 60


def serve(transport):
    from mcp.server.mcpserver import MCPServer
    server = MCPServer("public", version="7")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @server.tool()
    def sing(verse: str) -> str:
        """Sings."""
        return verse

    if transport == "stdio":
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=0, json_response=transport == "json")


class HttpServer:
    def __init__(self, transport):
        self.process = subprocess.Popen([sys.executable, __file__, "serve", transport], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.log = []
        for line in self.process.stdout:
            self.log.append(line)
            if match := re.search(r"running on (http://[0-9.:]+)", line):
                self.url = match[1] + "/mcp"
                return
        raise AssertionError("the library's server did not start: " + "".join(self.log))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.log.extend(self.process.stdout)
        self.process.stdout.close()
        self.process.wait(SECONDS_MAX)


def greet(*words):
    return subprocess.run([PROBE, *words], capture_output=True, text=True, timeout=SECONDS_MAX)


class PublicClient(unittest.TestCase):
    def talk(self, mode, talk):
        async def run():
            async with Client(StdioServerParameters(command=PROBE, args=["serve"]), mode=mode,
                              read_timeout_seconds=SECONDS_MAX) as client:
                return await talk(client)
        return asyncio.run(asyncio.wait_for(run(), SECONDS_MAX))

    def test_it_lists_our_tools_however_it_begins(self):
        async def names(client):
            return [(tool.name, list(tool.input_schema["properties"])) for tool in (await client.list_tools()).tools]
        for mode in ("auto", "legacy"):
            self.assertEqual(self.talk(mode, names), [("report", ["text"]), ("ask", ["question"]),
                                                      ("complete", ["summary"]), ("read", []),
                                                      ("answer", ["query", "text"])])

    def test_it_calls_our_tools(self):
        async def calls(client):
            await client.call_tool("report", {"text": "größer\nals zuvor"})
            answer = await client.call_tool("ask", {"question": "Why?"})
            seen = await client.call_tool("read", {})
            return answer.content[0].text, json.loads(seen.content[0].text), answer.is_error
        self.assertEqual(self.talk("auto", calls), ("You asked: Why?", {"reported": "größer\nals zuvor"}, False))

    def test_it_is_told_of_failures(self):
        async def fails(client):
            refused = await client.call_tool("complete", {"summary": "x"})
            self.assertTrue(refused.is_error)
            self.assertEqual(refused.content[0].text, "the task is over: stop")
            with self.assertRaises(MCPError) as unfit:
                await client.call_tool("report", {"words": "x"})
            self.assertEqual(unfit.exception.error.code, -32602)
        self.talk("auto", fails)


class MailboxClient(unittest.TestCase):
    """`skald mcp` as an agent's program starts it; this test is the engine's side of its mailbox."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.mailbox = pathlib.Path(folder.name)
        self.brief = {"workflow": {"id": "f", "name": "flow"}, "work": {"id": "w", "name": "work"},
                      "task": {"n": 1, "prompt": "paint"}, "wantsReport": True, "works": [], "answers": [], "queries": []}
        self.put("brief.json", self.brief)

    def put(self, name, value):
        beside = self.mailbox / ".beside"
        beside.write_text(json.dumps(value))
        beside.rename(self.mailbox / name)

    def said(self, n):
        return json.loads((self.mailbox / f"request-{n}.json").read_text())

    def talk(self, talk):
        async def run():
            server = StdioServerParameters(command=SKALD, args=["mcp"], env={"SKALD_MAILBOX": str(self.mailbox)})
            async with Client(server, read_timeout_seconds=SECONDS_MAX) as client:
                return await talk(client)
        return asyncio.run(asyncio.wait_for(run(), SECONDS_MAX))

    async def answer_when_asked(self, n, text):
        while not (self.mailbox / f"request-{n}.json").exists():
            await asyncio.sleep(0.01)
        self.put(f"answer-{n}.json", {"answer": text})

    def test_a_question_is_a_file_and_its_answer_another(self):
        async def asks(client):
            answering = asyncio.create_task(self.answer_when_asked(1, "blue"))
            asked = await client.call_tool("ask", {"question": "Which colour?"})
            await answering
            return asked.content[0].text
        self.assertEqual(self.talk(asks), "blue")
        self.assertEqual(self.said(1), {"kind": "ask", "text": "Which colour?"})

    def test_what_is_said_lies_in_its_order(self):
        async def says(client):
            self.put("query-1.json", {"id": "w.q1", "text": "How far?"})
            seen = json.loads((await client.call_tool("read", {})).content[0].text)
            await client.call_tool("report", {"text": "well"})
            await client.call_tool("answer", {"query": "w.q1", "text": "half"})
            again = await client.call_tool("answer", {"query": "w.q1", "text": "half"})
            await client.call_tool("complete", {"summary": "done"})
            return seen, again.is_error
        seen, refused = self.talk(says)
        self.assertEqual(seen, {**self.brief, "queries": [{"id": "w.q1", "text": "How far?"}]})
        self.assertTrue(refused)
        self.assertEqual([self.said(n) for n in (1, 2, 3)],
                         [{"kind": "report", "text": "well"}, {"kind": "answer", "text": "half", "query": "w.q1"},
                          {"kind": "complete", "text": "done"}])
        self.assertEqual(sorted(path.name for path in self.mailbox.iterdir()),
                         ["brief.json", "request-1.json", "request-2.json", "request-3.json"])

    def test_without_a_mailbox_it_says_what_it_lacks(self):
        done = subprocess.run([SKALD, "mcp"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={},
                              timeout=SECONDS_MAX)
        self.assertEqual(done.returncode, 2)
        self.assertIn("SKALD_MAILBOX", done.stderr)


class PublicServer(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        greeting = json.loads(done.stdout)
        self.assertEqual((greeting["name"], greeting["version"], greeting["tools"]), ("public", "7", ["add", "sing"]))
        self.assertRegex(greeting["protocol"], "^20[0-9-]+$")

    def test_it_is_greeted_over_pipes(self):
        self.check(greet("greet", sys.executable, __file__, "serve", "stdio"))

    def test_it_is_greeted_over_http_by_a_stream(self):
        with HttpServer("stream") as server:
            self.check(greet("greet-url", server.url))
        self.assertIn("DELETE /mcp HTTP/1.1\" 200", "".join(server.log))

    def test_it_is_greeted_over_http_by_json(self):
        with HttpServer("json") as server:
            self.check(greet("greet-url", server.url))

    def test_a_wrong_path_is_refused(self):
        with HttpServer("json") as server:
            done = greet("greet-url", server.url + "-not")
        self.assertEqual(done.returncode, 1)
        self.assertIn("MCP_FAILED: the MCP server 'public' answered with HTTP 404", done.stderr)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
        sys.exit()
    PROBE, SKALD = sys.argv[1:]
    python_library.run_again_with(HERE / "mcp_requirements.txt")
    from mcp import Client, MCPError, StdioServerParameters
    unittest.main(argv=sys.argv[:1])
