#!/usr/bin/env python3
"""Prints a port of 127.0.0.1 that nobody has, for a server that is started and may be started again.

It is below those that the kernel gives to outgoing connections: one of them would be taken while the server is down, by
its own clients at the latest, which try to connect to it.
"""
import random
import socket

with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as given:
    FIRST_OUTGOING = int(given.read().split()[0])
CANDIDATES = list(range(max(1024, FIRST_OUTGOING // 3), FIRST_OUTGOING))
random.shuffle(CANDIDATES)

for port in CANDIDATES:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
else:
    raise SystemExit("free_port: there is none")
