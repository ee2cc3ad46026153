"""What people said, a line of JSON each, written to disk before the next question is shown."""

import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Said:
    """One answer of one person."""

    person: str
    number: int  # of the person, in the order they came
    id: str
    condition: str
    probe: str
    answer: str
    at: str  # when, in UTC


class Log:
    """An append-only file; whoever answers twice is taken at their last word."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._people: dict[str, int] = {}
        self._said: dict[tuple[str, str], Said] = {}
        for line in self._whole_lines():
            self._take(json.loads(line))

    def number(self, person: str) -> int | None:
        """Tell which number a person has; None for a stranger."""
        return self._people.get(person)

    def welcome(self, person: str) -> int:
        """Give a person a number, the next that is free."""
        with self._lock:
            if person not in self._people:
                self._append({"person": person, "number": len(self._people)})
            return self._people[person]

    def add(self, said: Said) -> None:
        """Write an answer and wait until it is on disk."""
        with self._lock:
            self._append(asdict(said))

    def said(self) -> list[Said]:
        """List the last word of every person on every example."""
        with self._lock:
            return list(self._said.values())

    def by(self, person: str) -> dict[str, Said]:
        """List what a person said, by example."""
        return {said.id: said for said in self.said() if said.person == person}

    def _append(self, line: dict[str, object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._take(line)

    def _take(self, line: dict[str, object]) -> None:
        if "answer" in line:
            said = Said(**line)  # type: ignore[arg-type]  # as it was written
            self._said[said.person, said.id] = said
            self._people.setdefault(said.person, said.number)
        else:
            self._people[str(line["person"])] = int(str(line["number"]))

    def _whole_lines(self) -> list[bytes]:
        """Read the lines, cutting off a last one that was only half written."""
        if not self.path.is_file():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self.path.write_bytes(whole)
        return whole.splitlines()
