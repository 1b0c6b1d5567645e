"""The time of the site: it never runs backwards, and server processes on PostgreSQL agree on it."""

from every import every
from sqlalchemy import Connection

from merilo.site.database import SET_BACK, ServerClock, follow_database, site_clock

AT = 4_102_444_800_000


class Computer:
    """A computer whose clock can be set."""

    def __init__(self, monkeypatch) -> None:
        self.nanoseconds = 0
        monkeypatch.setattr("merilo.site.database.time.monotonic_ns", lambda: self.nanoseconds)

    def passes(self, milliseconds: int) -> None:
        self.nanoseconds += milliseconds * 1_000_000


def test_a_clock_is_set_forward_at_once(monkeypatch) -> None:
    Computer(monkeypatch)
    clock = ServerClock(wall=AT)
    clock.follow(lambda: AT + 3_600_000)
    assert clock.now() == AT + 3_600_000


def test_a_clock_is_set_back_by_standing_still(monkeypatch) -> None:
    computer = Computer(monkeypatch)
    clock = ServerClock(wall=AT)
    assert clock.now() == AT
    clock.follow(lambda: AT - 2_000)
    computer.passes(1_500)
    assert clock.now() == AT
    computer.passes(1_500)
    assert clock.now() == AT + 1_000


def test_a_great_step_back_is_not_followed(monkeypatch) -> None:
    computer = Computer(monkeypatch)
    clock = ServerClock(wall=AT)
    clock.follow(lambda: AT - SET_BACK - 1)
    computer.passes(10)
    assert clock.now() == AT + 10


@every("told", [AT, AT + 400, AT + 800])
def test_a_slow_network_does_not_disturb_the_clock(told: int, monkeypatch) -> None:
    computer = Computer(monkeypatch)
    computer.nanoseconds = 0
    clock = ServerClock(wall=AT)

    def read() -> int:
        computer.passes(800)
        return told

    clock.follow(read)
    assert clock.now() == AT + 800


def test_processes_with_wrong_clocks_agree_on_postgresql_and_each_has_its_own_on_sqlite(
    connection: Connection,
) -> None:
    ahead = ServerClock(wall=AT)
    behind = ServerClock(wall=1_000_000_000_000)
    true = site_clock(connection)
    follow_database(behind, connection)
    if connection.dialect.name == "postgresql":
        assert abs(true.now() - behind.now()) < 60_000
        assert ahead.now() >= AT, "a clock that is far ahead does not run backwards"
    else:
        assert behind.now() < true.now() - 60_000
