#!/usr/bin/env python3
"""A stock library for Standard Webhooks believes what a fresh installation sends.

    tools/webhook_test.py PROGRAM

The library is the one of webhook_requirements.txt. The
secret is the one that the program has made up in its data folder, handed over as it stands.
"""
import base64
import hashlib
import hmac
import http.server
import json
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

import python_library

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_MAX = 30


class Receiver:
    """Keeps what comes: (headers, body)."""

    def __init__(self):
        self.arrived = queue.Queue()
        arrived = self.arrived

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                arrived.put(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"


class Skald:
    def __init__(self, data, webhook):
        self.log = []
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--services", "donation", "--data", data,
             "--donation-webhook", webhook, "--webhook-allow-private"], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            self.log.append(line)
            if '"serving"' in line:
                self.address = json.loads(line)["address"]
                break
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(SECONDS_MAX)
        self.reader.join(SECONDS_MAX)
        self.process.stderr.close()

    def donate(self):
        gift = {"requestId": "r-1", "donor": "kim", "amount": 5, "currency": "EUR", "message": "für den Chor"}
        urllib.request.urlopen(urllib.request.Request(
            self.address + "/donation/donations", json.dumps(gift).encode(), {"content-type": "application/json"}))


class StandardWebhooks(unittest.TestCase):
    def setUp(self):
        self.receiver = Receiver()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = pathlib.Path(folder.name)

    def announced(self):
        with Skald(self.data, self.receiver.url) as skald:
            skald.donate()
            headers, body = self.receiver.arrived.get(timeout=SECONDS_MAX)
        return headers, body, "".join(skald.log), (self.data / "webhook-secret").read_text().strip()

    def test_a_made_up_secret_verifies_as_it_stands(self):
        headers, body, log, secret = self.announced()
        self.assertRegex(secret, "^whsec_[A-Za-z0-9+/]+=*$")
        Webhook(secret).verify(body, headers)
        self.assertEqual(json.loads(body)["data"]["requestId"], "r-1")
        with self.assertRaises(WebhookVerificationError):
            Webhook(secret).verify(body.replace(b'"amount":5', b'"amount":6'), headers)
        self.assertNotIn("raw secret", log)

    def test_a_raw_secret_of_a_version_before_goes_on_and_is_told(self):
        raw = "an-older-installation_made-this-one"
        (self.data / "webhook-secret").write_text(raw + "\n")
        headers, body, log, _ = self.announced()
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = base64.b64encode(hmac.new(raw.encode(), signed, hashlib.sha256).digest()).decode()
        self.assertEqual(headers["webhook-signature"], "v1," + digest)
        self.assertIn("raw secret", log)


if __name__ == "__main__":
    PROGRAM = sys.argv[1]
    python_library.run_again_with(HERE / "webhook_requirements.txt")
    from standardwebhooks import Webhook, WebhookVerificationError
    unittest.main(argv=sys.argv[:1])
