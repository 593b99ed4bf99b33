"""Settings of the services, and of what is told to others."""
import datetime
import json

from settings_kit import Receiver, signed_by, until
from settings_steps import (ALL_OF_BOOKING, SECRET, announcement, booked, case, give, offer_lamp, offer_slot,
                            order_lamp, vanishes)

# ---- donations and their webhook

@case("donation.webhook", "http://…")
def donation_webhook(given):
    receiver = Receiver()
    given.value = receiver.url
    server = given.serve(webhook__allow_private=True)
    give(server)
    announcement(server, 1, "COMPLETED")
    return not receiver.arrived.empty()


def announced(given, **others):
    receiver = Receiver()
    server = given.serve(donation__webhook=receiver.url, webhook__allow_private=True, **others)
    give(server)
    return receiver.next()


@case("donation.webhook_secret", SECRET)
def donation_webhook_secret(given):
    _, headers, body = announced(given)
    return signed_by(SECRET, headers, body)


@case("donation.webhook_format", "discord")
def donation_webhook_format(given):
    return "content" in json.loads(announced(given)[2])


@case("webhook.allow_private", True)
def webhook_allow_private(given):
    server = given.serve(donation__webhook=Receiver().url)
    give(server)
    return announcement(server, 1, "COMPLETED", "DEAD_LETTER", "FAILED")["outbox"]["status"] == "COMPLETED"


@case("alert.webhook", "http://…", waits=True)
def alert_webhook(given):
    receiver = Receiver()
    given.value = receiver.url
    away = dict(donation__webhook="http://127.0.0.1:1", webhook__allow_private=True)
    server = given.serve(**away)
    give(server)
    announcement(server, 1, "FAILED")
    server.kill()
    given.sql("UPDATE skald_outbox SET next_retry_at = 0, payload = '{}'")
    given.serve(**away)
    return b"INTEGRITY" in receiver.next()[2]


# ---- booking

@case("booking.timeout", "1s", waits=True)
def booking_timeout(given):
    """Course is gone when its seats are asked for."""
    nats = dict(bus=given.nats())
    course = given.serve(set_it=False, services="course,notify", data=str(given.folder / "course"), **nats)
    server = given.serve(services="booking,user-api", **nats)
    slot = until(lambda: slot_or_none(server), "course answers")
    booked(server, slot)
    course.kill()
    return booked(server, slot)["reason"]["code"] == "SAGA_TIMEOUT"


def slot_or_none(server):
    status, made = server.call("POST", "/booking/courses", {"name": "Riverside"})
    return offer_slot(server) if status == 201 else None


@case("booking.lock_tries", 7)
def booking_lock_tries(given):
    server = given.serve(services=ALL_OF_BOOKING)
    booked(server, offer_slot(server))
    return '"attemptsMax":7' in until(lambda: "attemptsMax" in server.text() and server.text(), "a line of course's")


@case("booking.event_tries", 9)
def booking_event_tries(given):
    server = given.serve(services=ALL_OF_BOOKING)
    booked(server, offer_slot(server))
    event = server.get("/api/outbox?service=booking&type=slot.reserve")["items"][0]["id"]
    return server.get(f"/api/outbox/{event}?service=course")["maxRetries"] == 8


@case("booking.refund_last_day", 30)
def booking_refund_last_day(given):
    server = given.serve(services=ALL_OF_BOOKING)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=3)
    kim = given.token()
    booking = booked(server, offer_slot(server, soon.strftime("%Y-%m-%dT%H:%M:%SZ")), kim)
    return server.post(f"/booking/bookings/{booking['id']}/cancel", {"reason": "rain"},
                       headers=kim)["refund"]["percent"] == 30


@case("booking.charge_max", 5)
def booking_charge_max(given):
    server = given.serve(services=ALL_OF_BOOKING)
    return booked(server, offer_slot(server))["status"] == "FAILED"


@case("booking.webhook", "http://…", waits=True)
def booking_webhook(given):
    receiver = Receiver()
    given.value = receiver.url
    server = given.serve(services=ALL_OF_BOOKING, webhook__allow_private=True)
    booked(server, offer_slot(server))
    return b"booking" in receiver.next()[2]


@case("booking.webhook_secret", SECRET)
def booking_webhook_secret(given):
    receiver = Receiver()
    server = given.serve(services=ALL_OF_BOOKING, webhook__allow_private=True, booking__webhook=receiver.url)
    booked(server, offer_slot(server))
    _, headers, body = receiver.next()
    return signed_by(SECRET, headers, body)


# ---- orders and sagas

@case("order.provider", "http://…", waits=True)
def order_provider(given):
    receiver = Receiver(500)
    given.value = receiver.url
    server = given.serve(services="order")
    offer_lamp(server)
    server.call("POST", "/order/orders", {"sku": "lamp", "quantity": 1})
    return receiver.next()[0].startswith("/")


@case("sagas.threads", 300)
def sagas_threads(given):
    return given.serve(services="order").threads() > 300


@case("sagas.patience", "1s", waits=True)
def sagas_patience(given):
    server = given.serve(services="order", order__provider=Receiver(500).url)
    offer_lamp(server)
    order_lamp(server)
    return bool(until(lambda: server.get("/api/sagas?status=NEEDS_HELP")["items"], "a saga needs help"))


def decided_order(server):
    offer_lamp(server)
    order = order_lamp(server)
    until(lambda: server.get(f"/order/orders/{order}")["status"] == "CONFIRMED", "the order is confirmed")


@case("sagas.retention", "1m")
def sagas_retention(given):
    return vanishes(given, decided_order, "UPDATE skald_saga SET finished_at = finished_at - 3600000000", "/api/sagas",
                    services="order")


@case("history.record", True)
def history_record(given):
    server = given.serve(services="order")
    decided_order(server)
    return bool(server.get("/api/history")["items"])


@case("history.retention", "1m")
def history_retention(given):
    return vanishes(given, decided_order, "UPDATE skald_history SET at = at - 3600000000", "/api/history",
                    services="order", history__record=True)


# ---- traces

def traced(given, **others):
    """A collector, and a server that reports to it what it was asked."""
    collector = Receiver()
    server = given.serve(otlp__endpoint=collector.url, **others)
    server.get("/donation/donations")
    server.get("/donation/invariants", headers={"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"})
    arrived = []
    until(lambda: arrived.append(collector.next()) or b"/donation/invariants" in arrived[-1][2], "the second request")
    return arrived


@case("otlp.endpoint", "http://…", waits=True)
def otlp_endpoint(given):
    collector = Receiver()
    given.value = collector.url
    given.serve().get("/donation/donations")
    return collector.next()[0] == "/v1/traces"


@case("otlp.headers", "api-key=hush-hush-hush")
def otlp_headers(given):
    return traced(given)[0][1].get("api-key") == "hush-hush-hush"


@case("otlp.service", "the-shop")
def otlp_service(given):
    return b"the-shop" in traced(given)[0][2]


@case("otlp.ratio", 0)
def otlp_ratio(given):
    """Who brings a trace is traced all the same."""
    return not any(b"/donation/donations" in body for _, _, body in traced(given))
