"""Settings of who may come in, and how much of it; and of what is done with code that kills its process."""
import http.client
import os
import socket
import subprocess
import urllib.parse

from settings_steps import SECRET, announcement, case, give

LIST = "/donation/donations"


@case("auth.audience", "shop")
def auth_audience(given):
    return given.serve().call("GET", LIST, headers=given.token())[0] == 401


@case("auth.issuer", "till")
def auth_issuer(given):
    return given.serve().call("GET", LIST, headers=given.token())[0] == 401


@case("token", "an admin's")
def token(given):
    """The server's secret is not where the command looks for it."""
    given.serve(set_it=False, auth__secret=SECRET)
    made = subprocess.run([given.program, "token", "--role", "admin", "--subject", "kim"], check=True,
                          capture_output=True, text=True, env={**os.environ, "SKALD_AUTH_SECRET": SECRET})
    given.value = made.stdout.strip()
    return given.serve(command="doctor", serves=False).ended()[0] == 0


def turned_away_beside_one(given, **others):
    """One connection is open and says nothing."""
    server = given.serve(**others)
    place = urllib.parse.urlparse(server.address)
    with socket.create_connection((place.hostname, place.port)):
        return server.call("GET", "/healthz")[0] == 503


@case("http.connections_max", 1)
def http_connections_max(given):
    return turned_away_beside_one(given)


@case("http.peer_share", 0.001)
def http_peer_share(given):
    return turned_away_beside_one(given, http__connections_max=1000)


@case("http.metrics_token", True)
def http_metrics_token(given):
    return given.serve(auth__secret=SECRET).call("GET", "/metrics")[0] == 401


def is_limited(given):
    server = given.serve()
    return 429 in [server.call("GET", LIST)[0] for _ in range(10)]


@case("http.rate_per_subject", 1)
def http_rate_per_subject(given):
    return is_limited(given)


@case("http.rate_per_address", 1)
def http_rate_per_address(given):
    return is_limited(given)


def second_stream(given):
    """How it is answered while the first is open."""
    place = urllib.parse.urlparse(given.serve().address)
    streams = [http.client.HTTPConnection(place.hostname, place.port, timeout=30) for _ in range(2)]
    for stream in streams:
        stream.request("GET", "/api/stream")
    answers = [stream.getresponse() for stream in streams]
    statuses = {answer.status for answer in answers}
    for stream in streams:
        stream.close()
    return statuses


@case("http.streams_max", 1)
def http_streams_max(given):
    return second_stream(given) == {200, 503}


@case("http.streams_per_subject", 1)
def http_streams_per_subject(given):
    return second_stream(given) == {200, 429}


@case("crash.retries", "never")
def crash_retries(given):
    """What has killed three processes is parked, with the time of its next try or none."""
    away = dict(donation__webhook="http://127.0.0.1:1", webhook__allow_private=True)
    server = given.serve(set_it=False, **away)
    give(server)
    announcement(server, 1, "FAILED")
    server.kill()
    given.sql("UPDATE skald_outbox SET next_retry_at = 0, crashes = 3")
    given.sql("INSERT INTO skald_blame (kind, id, counted) SELECT 'event', id, 3 FROM skald_outbox")
    server = given.serve(**away)
    announcement(server, 1, "DEAD_LETTER")
    server.kill()
    return given.sql("SELECT retry_at IS NULL FROM skald_blame") == [(1,)]
