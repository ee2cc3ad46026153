"""Pictures at addresses: fetched only when allowed, only from where it is allowed, bounded, checked, and kept."""

import socket
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest

from eyechart.base import fetching as transfer
from eyechart.base.errors import DataError, EyechartError, FileFormatError
from eyechart.data import web
from eyechart.data.images import Images
from eyechart.data.pictures import Picture, show_pictures
from eyechart.data.web import Web
from eyechart.models.function import Function
from servers.gallery import PIXELS, Gallery, showing
from unit.data.test_picture_safety import write_header


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    folder = tmp_path_factory.mktemp("gallery")
    write_header(folder / "bomb.png", 60_000, 60_000)
    with showing(folder) as served:
        yield served


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def ours(kept: Path) -> Web:
    """Allow this machine, too."""
    return Web(private=True, folder=kept)


def pictures(addresses: list[str], allowed: Web, root: Path | None = None) -> list[Picture | None]:
    names = [str(at) for at in range(len(addresses))]
    images = Images(pl.DataFrame({"image": names, "path": addresses}), root, web=allowed)
    return list(show_pictures(pl.DataFrame({"image": names}), images))


def refusal(address: str, allowed: Web) -> str:
    with pytest.raises(EyechartError) as found:
        pictures([address], allowed)
    assert not [file for file in (allowed.folder or Path()).glob("*") if file.is_file()], "nothing bad is kept"
    return str(found.value)


@pytest.mark.parametrize("root", [None, Path("pictures")])
def test_a_picture_is_fetched_once_and_shown_like_a_file(
    gallery: Gallery, ours: Web, kept: Path, root: Path | None
) -> None:
    address = f"{gallery.url}/good/{root}.png?signature=a b"
    first, second = pictures([address, address], ours, root)
    later = pictures([address], Web(folder=kept), root)

    assert first == second == later[0] == Picture.of(PIXELS)
    assert len([path for path in gallery.seen if path.startswith(f"/good/{root}.png")]) == 1
    assert [file.parent for file in kept.iterdir()] == [kept]


def test_many_are_fetched_at_once_and_stay_apart(gallery: Gallery, ours: Web, tmp_path: Path) -> None:
    from PIL import Image

    shades = np.arange(30, dtype=np.uint8)
    with showing(tmp_path) as served:
        for shade in shades:
            Image.fromarray(np.full((5, 5, 3), shade)).save(tmp_path / f"{shade} of 30.png")
        found = pictures([f"{served.url}/files/{quote(f'{shade} of 30.png')}" for shade in shades], ours)

    assert [one.pixels[0, 0, 0] for one in found if one is not None] == list(shades)


def test_nothing_is_fetched_unless_it_is_allowed(gallery: Gallery, kept: Path) -> None:
    said = refusal(f"{gallery.url}/good/off.png?key=secret", Web(folder=kept))

    assert "download it first, or allow it with --allow-http" in said
    assert "secret" not in said
    assert not [path for path in gallery.seen if "off.png" in path]


def test_this_machine_is_not_public(gallery: Gallery, kept: Path) -> None:
    dotted = ("127.0.0.1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "0")
    wide = ("\uff11\uff12\uff17.0.0.1", "127\u30020.0.1")  # digits and a dot that mean the same to some resolvers
    six = ("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[::]")
    for host in (*dotted, *wide, *six, "localhost", "LOCALHOST.", "127.0.0.1."):
        address = f"{gallery.url}/good/private.png".replace("127.0.0.1", host)
        found = refusal(address, Web(public=True, folder=kept))

        assert "is not a public host; --allow-private-http allows it" in found or "no such host" in found, host
    assert not [path for path in gallery.seen if "private.png" in path]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700:4700::1111", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.9.9", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),  # where clouds tell a machine its keys
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - not bound to
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("240.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("2002:7f00:1::", False),
        ("64:ff9b::7f00:1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("64:ff9b:1::a00:1", False),
        ("::7f00:1", False),
        ("fec0::1", False),
        ("2001:db8::1", False),
        ("192.0.2.1", False),
        ("198.18.0.1", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:  # noqa: FBT001 - a table
    assert transfer.is_public(ip_address(address)) is public


def test_a_redirect_is_followed(gallery: Gallery, ours: Web) -> None:
    target = quote(f"{gallery.url}/moved?to=/good/there.png")

    assert pictures([f"{gallery.url}/moved?to={target}"], ours) == [Picture.of(PIXELS)]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/it.png", "data:image/png;base64,AA"])
def test_a_redirect_leads_to_http_only(gallery: Gallery, ours: Web, target: str) -> None:
    assert "address instead of http or https" in refusal(f"{gallery.url}/moved?to={quote(target)}", ours)


def test_a_redirect_cannot_lead_to_a_private_host(
    gallery: Gallery, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one address of this machine taken for public, another that it sends to is still refused."""
    monkeypatch.setattr(transfer, "is_public", lambda address: str(address) == "127.0.0.1")
    target = f"{gallery.url}/good/hop.png".replace("127.0.0.1", "127.0.0.2")

    assert "127.0.0.2 is not a public host" in refusal(
        f"{gallery.url}/moved?to={quote(target)}", Web(public=True, folder=kept)
    )
    assert pictures([f"{gallery.url}/good/hop.png"], Web(public=True, folder=kept)) == [Picture.of(PIXELS)]


def answer_as(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Let each look-up of a name have the next answer."""
    left, real = list(answers), socket.getaddrinfo

    def answer(host: str, *more: object, **named: object) -> list[object]:
        hosts = left.pop(0) if host == "changing.test" else [host]
        return [each for name in hosts for each in real(name, *more, **named)]  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(transfer, "is_public", lambda address: str(address) == "127.0.0.1")


def test_a_name_with_one_private_address_among_public_ones_is_refused(
    gallery: Gallery, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_as(monkeypatch, ["127.0.0.1", "127.0.0.2"])
    address = f"{gallery.url}/good/both.png".replace("127.0.0.1", "changing.test")

    assert "changing.test is not a public host" in refusal(address, Web(public=True, folder=kept))
    assert not [path for path in gallery.seen if "both.png" in path]


@pytest.mark.parametrize("private", ["127.0.0.2", "2130706434"])
def test_a_name_is_judged_anew_at_every_redirect(
    gallery: Gallery, kept: Path, monkeypatch: pytest.MonkeyPatch, private: str
) -> None:
    """It was public for the first request; the redirect leads to itself, or to a number, and it is private by then."""
    answer_as(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
    base = gallery.url.replace("127.0.0.1", "changing.test")
    after = base if private == "127.0.0.2" else gallery.url.replace("127.0.0.1", private)
    found = refusal(f"{base}/moved?to={quote(f'{after}/good/later.png')}", Web(public=True, folder=kept))

    assert "is not a public host" in found
    assert not [path for path in gallery.seen if path.endswith("/good/later.png") and "moved" not in path]


def test_a_name_cannot_change_its_meaning(gallery: Gallery, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked up and found public is what is connected to, however the name is answered the next time."""
    port = int(gallery.url.rpartition(":")[2])
    asked: list[str] = []
    real = socket.getaddrinfo

    def answer(host: str, *more: object, **named: object) -> list[object]:
        asked.append(host)
        if host == "rebinding.test":
            return real("127.0.0.1" if asked.count(host) == 1 else "127.0.0.3", *more, **named)  # type: ignore[arg-type]
        return real(host, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(transfer, "is_public", lambda address: str(address) == "127.0.0.1")
    found = pictures([f"http://rebinding.test:{port}/good/name.png"], Web(public=True, folder=kept))

    assert found == [Picture.of(PIXELS)]
    assert asked.count("rebinding.test") == 1


def test_a_circle_of_redirects_ends(gallery: Gallery, ours: Web) -> None:
    assert "more than 5 redirects" in refusal(f"{gallery.url}/circle/", ours)


def test_too_much_is_not_read_to_its_end(gallery: Gallery, ours: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "BYTES", 500_000)

    assert "over 500,000 bytes" in refusal(f"{gallery.url}/endless/", ours)


@pytest.mark.parametrize("part", ["head", "body"])
def test_what_comes_byte_by_byte_is_given_up(
    gallery: Gallery, ours: Web, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "SECONDS", 2.0)
    monkeypatch.setattr(web, "_ATTEMPTS", 1)

    assert "not complete after 2 s" in refusal(f"{gallery.url}/dripping/{part}", ours)


def test_a_busy_server_is_asked_again_and_a_picture_that_is_not_there_is_not(gallery: Gallery, ours: Web) -> None:
    assert pictures([f"{gallery.url}/busy/"], ours) == [Picture.of(PIXELS)]
    for path, times in (("/missing/", 1), ("/cut/", 3)):
        with pytest.raises(FileFormatError):
            pictures([gallery.url + path], ours)
        assert gallery.seen.count(path) == times


@pytest.mark.parametrize(("path", "reason"), [("page/it.png", "cannot identify"), ("files/bomb.png", "pixels")])
def test_what_is_no_picture_or_too_large_is_not_kept(gallery: Gallery, ours: Web, path: str, reason: str) -> None:
    assert reason in refusal(f"{gallery.url}/{path}", ours)


def test_all_that_failed_are_counted_and_the_others_kept(gallery: Gallery, ours: Web, kept: Path) -> None:
    addresses = [f"{gallery.url}/{path}" for path in ("good/", "missing/1", "missing/2")]

    with pytest.raises(FileFormatError, match=r"/missing/1; found status 404, and 1 more that failed; provide them"):
        pictures(addresses, ours)
    assert len(list(kept.iterdir())) == 1


def test_names_and_passwords_are_refused_and_not_told(gallery: Gallery, ours: Web) -> None:
    said = refusal(gallery.url.replace("//", "//me:secret@") + "/good/", ours)

    assert "with a name or password" in said
    assert "secret" not in said


def test_https_wants_trust(gallery: Gallery, ours: Web) -> None:
    assert "no trusted connection" in refusal(gallery.url.replace("http:", "https:") + "/good/", ours)


@pytest.mark.parametrize("address", ["http://", "http://[", "http://host:port/", "http:///it.png", "https://a b/"])
def test_what_only_looks_like_an_address_is_one_clear_line(address: str, ours: Web) -> None:
    assert "a picture at" in refusal(address, ours)


@pytest.mark.parametrize("path", ["ftp://example.org/it.png", "file:///etc/passwd"])
def test_other_addresses_are_never_opened(path: str, ours: Web) -> None:
    with pytest.raises(DataError, match="download it first"):
        pictures([path], ours)


def test_a_function_is_handed_the_file_where_it_may_be_fetched_else_the_address(gallery: Gallery, ours: Web) -> None:
    address = f"{gallery.url}/good/function.png"
    table = pl.DataFrame({"image": ["it"], "path": [address]})
    probes = pl.DataFrame({"id": ["1"], "image": ["it"]})
    told = [
        Function("f", lambda rows: [rows[0]["image_path"]]).answer(probes, Images(table, web=allowed))["answer"][0]
        for allowed in (Web(), ours)
    ]

    assert told[0] == address
    assert Path(told[1]).read_bytes().startswith(b"\x89PNG")
