"""What cases of settings do again and again, and where they are kept."""
from settings_kit import until

CASES = {}
SECRET = "a secret that is long enough for everybody"


def case(path, value, waits=False):
    def add(function):
        CASES[path] = (function, value, waits)
        return function
    return add


def gift(number=1, donor="kim"):
    return {"requestId": f"r-{number}", "donor": donor, "amount": 5, "currency": "EUR"}


def give(server, number=1, donor="kim"):
    return server.post("/donation/donations", gift(number, donor))


def announcement(server, number=1, *states):
    """The donation, once its announcement is in one of the states."""
    return until(lambda: (lambda d: d if d["outbox"]["status"] in states else None)(
        server.get(f"/donation/donations/r-{number}")), f"r-{number} in {states}")


def offer_lamp(server):
    server.post("/order/products", {"sku": "lamp", "name": "a lamp", "price": 250, "currency": "EUR", "stock": 9})


def order_lamp(server):
    return server.post("/order/orders", {"sku": "lamp", "quantity": 1})["id"]


def offer_slot(server, starts_at="2090-01-01T09:00:00Z"):
    course = server.post("/booking/courses", {"name": "Riverside"})["id"]
    return server.post("/booking/slots", {"courseId": course, "startsAt": starts_at, "maxPlayers": 4,
                                          "pricePerPlayer": 10})["id"]


def book(server, slot, headers=None):
    return server.post("/booking/bookings", {"slotId": slot, "players": 1}, headers=headers)["id"]


def booked(server, slot, headers=None):
    """A booking that is decided."""
    booking = book(server, slot, headers)
    return until(lambda: (lambda b: b if b["status"] != "PENDING" else None)(
        server.get(f"/booking/bookings/{booking}")), "a decision")


ALL_OF_BOOKING = "booking,course,notify,user-api"


def vanishes(given, prepare, age, path, **others):
    """Whether what `path` lists, an hour old, is gone soon after the program's start."""
    server = given.serve(set_it=False, **others)
    prepare(server)
    until(lambda: server.get(path)["items"], f"{path} lists something")
    server.kill()
    given.sql(age)
    given.sql("UPDATE skald_job SET due_at = 0")
    server = given.serve(**others)
    if given.way == "none":
        return not server.get(path)["items"]
    until(lambda: not server.get(path)["items"], f"{path} is empty")
    return True
