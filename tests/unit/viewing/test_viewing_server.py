"""The verb opens the doors it should, and says what is missing."""

import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from eyechart.base.errors import SettingError
from eyechart.cli import main
from eyechart.data.store import Store
from eyechart.viewing.server import ServerAddress, ask_people, view_run


def nothing(_address: str) -> None:
    """Tell nobody."""


def test_without_the_libraries_one_line_says_how_to_get_them(
    run: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(sys, "argv", ["eyechart", "view", str(run.folder)])
    with pytest.raises(SystemExit) as leaving:
        main()

    assert leaving.value.code == 1
    assert "pip install 'eyechart[view]'" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["eyechart", "view", str(tmp_path)])
    with pytest.raises(SystemExit) as leaving:
        main()

    assert leaving.value.code == 1
    assert "no manifest.json there" in capsys.readouterr().err


def test_a_port_that_is_taken_is_said_to_be(run: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(SettingError, match="--port"):
        view_run(run, ServerAddress(port=other.getsockname()[1]), nothing)


def test_options_that_were_not_drawn_cannot_be_offered(run: Store) -> None:
    with pytest.raises(SettingError, match="study `decoys`"):
        ask_people(run, ServerAddress(), nothing, options="qou")


def test_the_server_listens_at_home_only_and_leaves_quietly(run: Store) -> None:
    command = [sys.executable, "-m", "eyechart", "view", str(run.folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        with urlopen(address) as answer:  # noqa: S310 - our own server
            assert answer.status == 200
        port = int(address.split(":")[2].partition("/")[0])
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port), timeout=2).close()
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=120)

    assert complaints == ""
    assert server.returncode == 0
