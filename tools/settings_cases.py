"""Settings of the program, its API, its databases and its buses."""
import concurrent.futures
import datetime
import os
import subprocess

from settings_kit import NatsGreeter, Receiver, nkey_seed, psql, until
from settings_steps import ALL_OF_BOOKING, SECRET, announcement, booked, case, gift, give, offer_slot, vanishes

# ---- where it is, and what runs

@case("listen", "127.0.0.2:0")
def listen(given):
    return given.serve().address.startswith("http://127.0.0.2:")


@case("data", "elsewhere")
def data(given):
    given.value = str(given.folder / "elsewhere")
    given.serve()
    return (given.folder / "elsewhere" / "server.json").exists()


@case("db", "sqlite:elsewhere")
def db(given):
    given.value = f"sqlite:{given.folder / 'elsewhere'}"
    given.serve()
    return (given.folder / "elsewhere" / "donation.db").exists()


@case("services", ["donation"])
def services(given):
    return given.serve(services="all").call("GET", "/order/products")[0] == 404


@case("log.level", "debug")
def log_level(given):
    server = given.serve()
    server.get("/donation/donations")
    server.process.terminate()
    return '"http request"' in server.ended()[1]


# ---- NATS

@case("bus", "nats://…")
def bus(given):
    greeter = NatsGreeter()
    given.value = greeter.url
    given.serve(services=ALL_OF_BOOKING, serves=given.way == "none")
    return given.way != "none" and "verbose" in greeter.introduction()


def introduction(given, **others):
    """How the program introduces itself; not at all where the other half of a pair is missing."""
    if given.way == "none" and others:
        return {}
    greeter = NatsGreeter()
    given.serve(services=ALL_OF_BOOKING, serves=False, bus=greeter.url, **others)
    return greeter.introduction()


@case("nats.user", "kim")
def nats_user(given):
    return introduction(given, nats__password=SECRET).get("user") == "kim"


@case("nats.password", SECRET)
def nats_password(given):
    return introduction(given, nats__user="kim").get("pass") == SECRET


@case("nats.token", SECRET)
def nats_token(given):
    return introduction(given).get("auth_token") == SECRET


@case("nats.creds", "a file")
def nats_creds(given):
    file = given.folder / "kim.creds"
    file.write_text(f"-----BEGIN NATS USER JWT-----\nkims.own.jwt\n------END NATS USER JWT------\n\n"
                    f"-----BEGIN USER NKEY SEED-----\n{nkey_seed()}\n------END USER NKEY SEED------\n")
    given.value = str(file)
    return introduction(given).get("jwt") == "kims.own.jwt"


def with_seed(given):
    file = given.folder / "seed"
    file.write_text(nkey_seed() + "\n")
    return str(file)


@case("nats.nkey", "UAKIM")
def nats_nkey(given):
    return introduction(given, nats__nkey_seed=with_seed(given)).get("nkey") == "UAKIM"


@case("nats.nkey_seed", "a file")
def nats_nkey_seed(given):
    given.value = with_seed(given)
    return bool(introduction(given, nats__nkey="UAKIM").get("sig"))


def refused_file(given, **others):
    """The program looks for the file at once, and says that it is no good."""
    given.value = str(given.folder / "nothing.pem")
    server = given.serve(services=ALL_OF_BOOKING, serves=False, bus="tls://127.0.0.1:1", **others)
    if given.way == "none":
        return server.process.poll() is not None
    status, said = server.ended()
    return status == 2 and "for NATS" in said


@case("nats.ca", "a file")
def nats_ca(given):
    return refused_file(given)


@case("nats.cert", "a file", waits=True)
def nats_cert(given):
    return refused_file(given, nats__key=str(given.folder / "nothing.key"))


@case("nats.key", "a file", waits=True)
def nats_key(given):
    return refused_file(given, nats__cert=str(given.folder / "nothing.crt"))


@case("nats.timeout", "1s", waits=True)
def nats_timeout(given):
    """Who asks is answered although the other service never does."""
    server = given.serve(services="user-api", bus=NatsGreeter().url)
    return server.call("GET", "/booking/courses")[0] == 503


# ---- HTTP

@case("auth.secret", SECRET)
def auth_secret(given):
    return given.serve().call("GET", "/donation/donations")[0] == 401


@case("http.threads", 200)
def http_threads(given):
    return given.serve().threads() > 200


@case("http.allowed_hosts", ["shop.example"])
def http_allowed_hosts(given):
    return given.serve().call("GET", "/donation/donations", headers={"host": "shop.example"})[0] == 200


@case("http.idempotency_retention", "2h")
def http_idempotency_retention(given):
    server = given.serve()
    server.post("/donation/donations", gift(), headers={"idempotency-key": "k"})
    server.kill()
    return given.sql("SELECT expires_at - created_at FROM skald_api_key") == [(2 * 3600 * 1_000_000,)]


# ---- PostgreSQL

class Blockade:
    """Whoever writes donations waits, while it stands."""

    def __init__(self, url, table):
        self.session = subprocess.Popen(["psql", "-qXAt", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.session.stdin.write(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT 'held';\n")
        self.session.stdin.flush()
        assert self.session.stdout.readline().strip() == "held"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.stdin.close()
        self.session.wait()
        self.session.stdout.close()


def refusals(server, requests):
    with concurrent.futures.ThreadPoolExecutor(requests) as clients:
        answers = clients.map(lambda n: server.call("POST", "/donation/donations", gift(n))[1], range(requests))
        return {answer.get("code") for answer in answers}


@case("postgres.connections", 3)
def postgres_connections(given):
    url = given.postgres()
    server = given.serve(db=url)
    blocked = ("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'")
    most = 0
    with Blockade(url, "donation"), concurrent.futures.ThreadPoolExecutor(12) as clients:
        sent = [clients.submit(server.call, "POST", "/donation/donations", gift(n)) for n in range(12)]
        while not any(one.done() for one in sent):
            most = max(most, int(psql(url, blocked)))
    return 0 < most <= 3


@case("postgres.listen", "postgresql://…")
def postgres_listen(given):
    """It is compared with db at once: one that leads elsewhere is refused."""
    url = given.postgres()
    given.value = os.environ["SKALD_TEST_PG"]
    server = given.serve(db=url, serves=given.way == "none")
    if given.way == "none":
        return server.process.poll() is not None
    status, said = server.ended()
    return status == 1 and "leads to another database" in said


@case("postgres.transaction_timeout", "1s")
def postgres_transaction_timeout(given):
    url = given.postgres()
    server = given.serve(db=url)
    with Blockade(url, "donation"):
        return "LOCK_TIMEOUT" not in refusals(server, 1)


@case("postgres.transaction_wait", "1s")
def postgres_transaction_wait(given):
    url = given.postgres()
    server = given.serve(db=url, postgres__connections=3)
    with Blockade(url, "donation"):
        return "POOL_EXHAUSTED" in refusals(server, 4)


@case("outbox.lease", "5m")
def outbox_lease(given):
    """A worker that cannot beat trusts itself for as long as its lease: one of 4 s gives up first."""
    url = given.postgres()
    server, other = given.serve(db=url), given.serve(set_it=False, db=url, outbox__lease="4s",
                                                     data=str(given.folder / "other"))
    until(lambda: server.call("GET", "/readyz")[0] == other.call("GET", "/readyz")[0] == 200, "both are ready")
    with Blockade(url, "skald_worker"):
        until(lambda: other.call("GET", "/readyz")[0] == 503, "the other gives up")
        return server.call("GET", "/readyz")[0] == 200


# ---- the outbox

@case("outbox.batch", 1)
def outbox_batch(given):
    """What ends in one transaction has one time: the less goes together, the more times there are."""
    server = given.serve(set_it=False, donation__webhook="http://127.0.0.1:1", webhook__allow_private=True)
    for number in range(20):
        give(server, number)
    announcement(server, 0, "FAILED")
    server.kill()
    given.sql("UPDATE skald_outbox SET next_retry_at = 0")
    server = given.serve()
    until(lambda: all(entry["status"] == "COMPLETED" for entry in server.get("/api/outbox")["items"]), "all have ended")
    server.kill()
    return given.sql("SELECT COUNT(DISTINCT updated_at) FROM skald_outbox") >= [(5,)]


@case("outbox.retries_max", 0)
def outbox_retries_max(given):
    """For announcements and for notifications."""
    receiver = Receiver(500)
    server = given.serve(services="all", donation__webhook=receiver.url, booking__webhook=receiver.url,
                         webhook__allow_private=True)
    give(server)
    first = announcement(server, 1, "FAILED", "DEAD_LETTER")["outbox"]["status"]
    booked(server, offer_slot(server))
    entries = until(lambda: [one for one in server.get("/api/outbox?service=notify")["items"]
                             if one["status"] in ("FAILED", "DEAD_LETTER")], "a notification was refused")
    return {first, entries[0]["status"]} == {"DEAD_LETTER"}


@case("outbox.backoff_first", "2h")
def outbox_backoff_first(given):
    server = given.serve(donation__webhook=Receiver(500).url, webhook__allow_private=True)
    give(server)
    donation = announcement(server, 1, "FAILED")
    return hours_between(donation["createdAt"], donation["outbox"]["nextRetryAt"]) >= 2


def hours_between(begin, end):
    moments = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (begin, end)]
    return (moments[1] - moments[0]).total_seconds() / 3600


@case("outbox.on_dead_letter", "block")
def outbox_on_dead_letter(given):
    receiver = Receiver(400)
    server = given.serve(donation__webhook=receiver.url, webhook__allow_private=True)
    give(server, 1)
    announcement(server, 1, "DEAD_LETTER")
    receiver.status = 200
    give(server, 2)
    give(server, 3, "lee")
    announcement(server, 3, "COMPLETED")
    if given.way == "none":
        announcement(server, 2, "COMPLETED")
    return server.get("/donation/donations/r-2")["outbox"]["status"] == "PENDING"


@case("outbox.hash_key", SECRET)
def outbox_hash_key(given):
    """What was hashed with it does not match without it."""
    away = dict(donation__webhook="http://127.0.0.1:1", webhook__allow_private=True)
    server = given.serve(**away)
    give(server)
    announcement(server, 1, "FAILED")
    server.kill()
    given.sql("UPDATE skald_outbox SET next_retry_at = 0")
    server = given.serve(set_it=False, **away)
    return given.way != "none" and bool(announcement(server, 1, "DEAD_LETTER"))


@case("outbox.retention", "1m")
def outbox_retention(given):
    def prepare(server):
        give(server)
        announcement(server, 1, "COMPLETED")
    return vanishes(given, prepare, "UPDATE skald_outbox SET updated_at = updated_at - 3600000000", "/api/outbox")
