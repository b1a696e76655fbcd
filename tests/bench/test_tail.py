from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.bench.tail import MAXIMUM_LINE, Tail

PLENTY = 1 << 22


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.binary(max_size=40), max_size=12))
def test_lines_come_out_whole_however_the_writer_is_cut_off(pieces: list[bytes], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    tail = Tail(path, maximum_bytes=PLENTY)
    found = []
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        found += tail.lines()
    found += tail.remaining()

    *whole, last = b"".join(pieces).split(b"\n")
    assert found == ([*whole, last] if last else whole)


def test_a_file_that_is_not_there_yet_has_no_lines(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "nothing", maximum_bytes=PLENTY)

    assert tail.lines() == []
    assert not tail.is_flooded


def test_a_line_without_end_comes_out_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (3 * MAXIMUM_LINE) + b"\nnext\n")

    lines = Tail(path, maximum_bytes=PLENTY).remaining()

    assert b"".join(lines[:-1]) == b"x" * (3 * MAXIMUM_LINE)
    assert lines[-1] == b"next"


def test_nothing_is_read_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"line\n" * 100)
    tail = Tail(path, maximum_bytes=50)

    assert tail.is_flooded
    assert tail.remaining() == [b"line"] * 10
