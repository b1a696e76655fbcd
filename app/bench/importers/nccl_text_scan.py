"""nccl-tests text, line by line, gathered into one `Facts` per run. Nothing is concluded here."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from app.bench.importers import nccl_text_header as header
from app.bench.importers.badges import badge
from app.bench.importers.facts import Facts, torn
from app.bench.importers.nccl_text_row import (
    Titles,
    figures_in,
    glued_check,
    numbers_only,
    read_row,
    row_starts,
    titles,
)
from app.bench.importers.prefixes import Line, without_labels
from app.bench.importers.raw import RawRow
from app.bench.importers.units import operation_name, program_in

_COMMAND = re.compile(r"_perf\S*\s+-|_perf\S*\s*\\?\s*$|/\w+_perf\b")
_CUT_ROW = re.compile(r"\s*\d+(?:\s+\d+)?\s*$")
_ORPHAN = re.compile(r"\s*[\d.]+(?:\s+(?:[\d.]+(?:e[+-]?\d+)?|N/A)){3,}\s*$")
_ROW_WORD = re.compile(r"-?[\d.]+(?:e[+-]?\d+)?|N/A|[a-z]+")
_MAXIMUM_OTHER = 20_000
"""Lines of a run that are kept to look for failures."""


class Scanner:
    """Takes lines in order; `runs` holds what was found."""

    def __init__(self) -> None:
        self.runs: list[Facts] = [Facts()]
        self._program: str | None = None
        self._pending: tuple[Line, str] | None = None
        self._in_place_heading = False
        self._takers: tuple[Callable[[str], bool], ...] = (
            self._parameters,
            self._program_line,
            self._about,
            self._titles,
            self._footer,
        )

    def take(self, lines: Iterable[Line]) -> list[Facts]:
        """Read all lines; the runs, of which only the first may be one that never began."""
        for line in lines:
            self._take(line)
        self._settle()
        return self.runs

    @property
    def _run(self) -> Facts:
        return self.runs[-1]

    def _take(self, line: Line) -> None:
        text = without_labels(line.text) if "[" in line.text else line.text
        if text.startswith("|"):
            text = text.replace("|", " ")
        if row_starts(text):
            self._settle()
            self._row(line, text)
        elif self._pending and self._is_rest(text):
            self._pending = (self._pending[0], f"{self._pending[1]} {text.strip()}")
        elif not any(take(text) for take in self._takers):
            self._other(line, text)

    def _row(self, line: Line, text: str) -> None:
        starts = row_starts(text)
        lead = text[: starts[0]].strip()
        if lead and _ORPHAN.match(lead):
            self._run.badges.append(torn(line.number, "headless"))
        elif lead and not self._run.rows:
            lead = ""
        ends = [*starts[1:], len(text)]
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            is_first = index == 0 and not lead
            piece = text[:end] if is_first and not text[:start].strip() else text[start:end]
            row = read_row(piece, self._run.titles, has_root=self._run.has_root)
            if row is None or (row.has_junk and not row.is_whole):
                self._begin_pending(line, piece, row)
                continue
            tokens = row.tokens if is_first and len(starts) == 1 else ()
            self._add(line, replace(row, tokens=tokens, is_repaired=row.has_junk or len(starts) > 1 or bool(lead)))
            if row.has_junk or len(starts) > 1 or lead:
                self._run.badges.append(torn(line.number, "glued" if len(starts) > 1 else "junk", fate="kept"))

    def _begin_pending(self, line: Line, piece: str, row: RawRow | None) -> None:
        """Hold a row that stops early: the rest of it may stand on the next lines, behind text of another process."""
        words = piece.split()
        if row:
            words = words[: len(row.tokens)]
        else:
            keep = next((at for at, word in enumerate(words) if at >= 3 and not _ROW_WORD.fullmatch(word)), len(words))
            more = glued_check(words[keep]) if keep < len(words) and self._figures(words[:keep]) % 4 == 3 else None
            words = [*words[:keep], *([more] if more else [])]
        self._pending = (line, " ".join(words))

    def _figures(self, words: list[str]) -> int:
        return figures_in(" ".join(words), self._run.titles, has_root=self._run.has_root)

    def _is_rest(self, text: str) -> bool:
        """True for figures that can be the rest of the row that is held: it stopped before a half."""
        if not self._pending or not numbers_only(text):
            return False
        held = self._figures(self._pending[1].split())
        return held in {0, 4} and held + len(text.split()) <= 8

    def _settle(self) -> None:
        """End a row whose rest may have come."""
        if not self._pending:
            return
        line, text = self._pending
        self._pending = None
        row = read_row(text, self._run.titles, has_root=self._run.has_root)
        if row is None:
            self._run.is_cut = True
            self._run.badges.append(torn(line.number, "short"))
            return
        is_joined = text.split() != line.text.split()[: len(text.split())]
        self._add(
            line, replace(row, tokens=(), is_repaired=is_joined, is_whole=row.is_whole and row.halves[1] is not None)
        )

    def _add(self, line: Line, row: RawRow) -> None:
        if row.line == 0:
            row = replace(row, line=line.number)
        self._run.rows.append(row)
        self._run.is_ended = False

    def _parameters(self, text: str) -> bool:
        """Take the line that begins a run; True if it was one."""
        found = header.parameters(text)
        if found is None:
            return False
        run = self._run
        if run.is_inherited and not (run.titles_seen or run.rows or run.averages):
            # It has a header of its own, so what it took over from the table before does not count.
            run.is_inherited, run.devices = False, []
        elif run.has_header or run.titles_seen or run.rows or run.averages:
            self._begin()
        self._run.has_header = True
        self._run.parameters |= found
        self._name()
        return True

    def _program_line(self, text: str) -> bool:
        """Take a line on which a program announces itself or says that it has ended."""
        run = self._run
        if program := header.starting(text):
            if run.is_begun and (run.operation_basis == "named" or run.titles_seen or run.rows):
                self._begin(inherit=run.is_ringside)
        elif program := header.concluded(text):
            run.is_ended = True
        if program and self._run.operation_basis != "named":
            self._run.operation, self._run.operation_basis = operation_name(program), "named"
        return program is not None

    def _about(self, text: str) -> bool:
        """Take a line on versions, devices or memory."""
        if found := header.versions(text):
            if "tests_version" in found and (self._run.has_header or self._run.rows):
                self._begin()
            if "rccl" in found:
                self._run.tool = "rccl-tests"
            self._run.parameters |= found
        elif device := header.device(text):
            if self._run.rows:
                self._begin()
            self._run.devices.append(device)
        elif maximum := header.reduced_maximum(text):
            self._run.parameters["reduced_maximum_bytes"] = maximum
        else:
            return False
        return True

    def _titles(self, text: str) -> bool:
        """Take the titles of a table."""
        found = titles(text)
        if found is None:
            return False
        self._settle()
        if self._run.rows or self._run.averages:
            self._begin()
        self._run.titles_seen += 1
        self._run.titles = self._with_place(found)
        self._name()
        return True

    def _footer(self, text: str) -> bool:
        """Take a line of the footer."""
        average, wrong = header.average(text), header.out_of_bounds(text)
        if average is None and wrong is None:
            return False
        self._settle()
        if average is not None:
            self._run.averages.append(average)
            self._run.is_ended = True
        if wrong is not None:
            self._run.out_of_bounds.append(wrong)
        return True

    def _other(self, line: Line, text: str) -> None:
        run = self._run
        run.is_cycled = run.is_cycled or ("Testing" in text and "cycle" in text)
        if said := header.ringside(text):
            run.is_ringside, run.tool = True, "ringside"
            run.parameters.setdefault("ringside", said)
            if "(emulated)" in said:
                run.badges.append(badge("emulated"))
        if "in-place" in text:
            self._in_place_heading = "out-of-place" not in text
        if "_perf" in text and _COMMAND.search(text) and (program := program_in(text)):
            run.is_ended = run.is_ended or (run.is_begun and header.is_prompt(text))
            self._program = program
        elif not self._elision(line, text):
            self._fragment(line, text)
        if len(run.other) < _MAXIMUM_OTHER and text.strip():
            run.other.append(line)

    def _elision(self, line: Line, text: str) -> bool:
        """Take a line that stands for others that were taken out."""
        run = self._run
        if run.is_begun and not run.averages and header.is_elision(text):
            if run.titles_seen or run.rows:
                run.elided.append(line.number)
            else:
                run.ranks_hidden = True
            return True
        if run.devices and header.hides_ranks(text):
            run.ranks_hidden = True
            return True
        return False

    def _fragment(self, line: Line, text: str) -> None:
        """Note a piece of a row that cannot be used."""
        run = self._run
        if run.is_ended:
            return
        if run.rows and _CUT_ROW.fullmatch(text):
            run.is_cut = True
            run.badges.append(torn(line.number, "short"))
        elif numbers_only(text):
            run.badges.append(torn(line.number, "headless"))

    def _with_place(self, found: Titles) -> Titles:
        only = self._in_place_heading and len(found.halves) == 1
        self._in_place_heading = False
        return replace(found, only_in_place=only)

    def _begin(self, *, inherit: bool = False) -> None:
        self._settle()
        before = self._run
        if before.is_begun:
            self.runs.append(Facts())
        if inherit:
            self._run.is_ringside, self._run.is_inherited, self._run.tool = True, True, before.tool
            self._run.has_header, self._run.parameters = True, dict(before.parameters)
            self._run.devices = list(before.devices)

    def _name(self) -> None:
        """Give the run the operation of the command that was typed before it."""
        if self._program and self._run.operation is None:
            self._run.operation, self._run.operation_basis = self._program, "command"
        self._program = None
