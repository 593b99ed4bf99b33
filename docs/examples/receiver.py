#!/usr/bin/env python3
"""Prints the announcements it receives: python3 receiver.py PORT"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen = {}


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        event_id = self.headers.get("webhook-id", "?")
        repeat = ""
        if event_id in seen:
            repeat = " (repeat)" if seen[event_id] == body else " (REPEAT WITH OTHER BYTES)"
        seen[event_id] = body
        data = json.loads(body).get("data", {})
        print(event_id, data.get("donor"), data.get("requestId"), data.get("amount"), repeat, flush=True)
        self.send_response(204)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
