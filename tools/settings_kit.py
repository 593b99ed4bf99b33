"""What settings_test.py stands on: the program under test, and the outside that it talks to."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import queue
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

SECONDS_MAX = 30


def until(condition, what, seconds=SECONDS_MAX):
    """What the condition gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come about")


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def spelled(value):
    if isinstance(value, list):
        return ",".join(value)
    return json.dumps(value) if isinstance(value, bool) else str(value)


class Receiver:
    """An HTTP server that keeps what comes, as (path, headers, body), and answers with `status`."""

    def __init__(self, status=200):
        self.status = status
        self.arrived = queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                receiver.arrived.put((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(receiver.status)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def next(self, seconds=SECONDS_MAX):
        return self.arrived.get(timeout=seconds)


class NatsGreeter:
    """As much of a NATS server as shows how a client introduces itself: `connects` are its CONNECTs.
    It answers pings and nothing else."""

    def __init__(self):
        self.connects = queue.Queue()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client):
        hello = {"server_id": "g", "version": "2.9.10", "go": "x", "host": "127.0.0.1", "port": 1, "headers": True,
                 "max_payload": 1048576, "proto": 1, "client_id": 1, "auth_required": True, "nonce": "c2FsdA",
                 "jetstream": True}
        with contextlib.suppress(OSError):
            client.sendall(b"INFO " + json.dumps(hello).encode() + b"\r\n")
            for line in client.makefile("rb"):
                if line.startswith(b"CONNECT "):
                    self.connects.put(json.loads(line[8:]))
                if line.startswith(b"PING"):
                    client.sendall(b"PONG\r\n")

    def introduction(self):
        return self.connects.get(timeout=SECONDS_MAX)


def nkey_seed():
    """A user's seed as NATS writes them."""
    raw = bytes([(18 << 3) | (20 << 3 >> 5), (20 << 3 & 31) << 3]) + bytes(range(32))
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xffff
    return base64.b32encode(raw + crc.to_bytes(2, "little")).decode().rstrip("=")


def signed_by(secret, headers, body):
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return headers["webhook-signature"] == "v1," + base64.b64encode(
        hmac.new(secret.encode(), text, hashlib.sha256).digest()).decode()


class Server:
    """One process of the program."""

    def __init__(self, command, environment, serves=True):
        self.log, self.address = [], None
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                        env=environment)
        if serves:
            for line in self.process.stderr:
                self.log.append(line)
                if '"serving"' in line:
                    self.address = json.loads(line)["address"]
                    break
            if self.address is None:
                raise AssertionError("it does not serve: " + "".join(self.log))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with contextlib.suppress(ValueError):
            self.log.extend(self.process.stderr)

    def text(self):
        return "".join(self.log)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS_MAX)
        self.reader.join(SECONDS_MAX)
        self.process.stderr.close()

    def ended(self):
        """Its exit status and what it said."""
        status = self.process.wait(SECONDS_MAX)
        self.reader.join(SECONDS_MAX)
        return status, self.text()

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def call(self, method, path, body=None, headers=None):
        """(status, what the JSON says)"""
        request = urllib.request.Request(self.address + path, None if body is None else json.dumps(body).encode(),
                                         {"content-type": "application/json", **(headers or {})}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * SECONDS_MAX) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def get(self, path, **more):
        return self.call("GET", path, **more)[1]

    def post(self, path, body, **more):
        status, answer = self.call("POST", path, body, **more)
        assert status < 300, (path, status, answer)
        return answer


class Given:
    """A setting on one of its ways into the program, and what the case needs besides."""

    def __init__(self, program, path, value, way, is_secret):
        self.program, self.path, self.value, self.way, self.is_secret = program, path, value, way, is_secret
        self.stack = contextlib.ExitStack()
        self.folder = pathlib.Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="skald-settings-")))
        self.data = self.folder / "data"
        self.servers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()
        self.stack.close()

    def serve(self, set_it=True, serves=True, command="serve", value=None, **others):
        """Starts it with the setting, and with `others` (a_b for a.b), which do not count."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SKALD_")}
        words = [self.program, command]
        value = self.value if value is None else value
        standard = {"listen": "127.0.0.1:0", "data": str(self.data), "services": "donation"}
        others = {k.replace("__", "."): v for k, v in others.items()}
        for path, other in {**standard, **others}.items():
            if path != self.path or self.way == "none" or not set_it:
                environment[variable(path)] = spelled(other)
        if set_it and self.way == "file":
            file = self.folder / "skald.toml"
            file.write_text(f"{self.path} = {toml(value)}\n")
            words += ["--config", str(file)]
        if set_it and self.way == "environment":
            environment[variable(self.path)] = spelled(value)
        if set_it and self.way == "flag":
            words += ["--" + self.path.replace(".", "-").replace("_", "-")]
            words += [] if value is True else [spelled(value)]
        self.servers.append(Server(words, environment, serves))
        return self.servers[-1]

    def token(self, role="customer", subject="kim"):
        made = subprocess.run([self.program, "token", "--role", role, "--subject", subject, "--data", self.data],
                              check=True, capture_output=True, text=True)
        return {"authorization": "Bearer " + made.stdout.strip()}

    def sql(self, statement, file="donation.db"):
        """On the database of a server that is not running."""
        with contextlib.closing(sqlite3.connect(self.data / file)) as db, db:
            return db.execute(statement).fetchall()

    def postgres(self):
        """An empty database of its own."""
        server = os.environ["SKALD_TEST_PG"]
        name = f"skald_settings_{os.getpid()}_{threading.get_ident()}"
        psql(server, f"CREATE DATABASE {name}")
        self.stack.callback(lambda: psql(server, f"DROP DATABASE {name} WITH (FORCE)"))
        return server.rsplit("/", 1)[0] + "/" + name

    def nats(self):
        """A NATS server of its own."""
        folder = self.folder / "nats"
        folder.mkdir()
        script = str(pathlib.Path(__file__).resolve().parent / "private_nats.sh")
        url = subprocess.run([script, "start", folder], check=True, capture_output=True, text=True).stdout.strip()
        self.stack.callback(lambda: subprocess.run([script, "stop", folder], check=True, capture_output=True))
        return url


def psql(url, statement):
    return subprocess.run(["psql", "-qXAt", "-c", statement, url], check=True, capture_output=True,
                          text=True).stdout.strip()


def variable(path):
    return "SKALD_" + path.upper().replace(".", "_")
