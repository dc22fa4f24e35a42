"""Retrieval against a server that cuts, stalls, lies and refuses."""

import email.utils
import fcntl
import gzip
import hashlib
import io
import json
import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from pathlib import Path

import pytest
import requests
from flaky_server import DATA, Flaky

from headwater.core import part, transfer
from headwater.core.errors import InputError
from headwater.core.part import NextUrl, TransferError, shown
from headwater.core.retrieve import locate, obtain, read_datasets, unpack
from headwater.core.transfer import fetch

SUM = hashlib.sha256(DATA).hexdigest()
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def server():
    state = Flaky()
    state.url = state.start()
    yield state
    state.stop()


@pytest.fixture
def get(tmp_path):
    """Fetch to tmp_path/data.bin without real pauses; return the path and the pauses."""
    pauses = []

    def call(urls, **options):
        urls = [urls] if isinstance(urls, str) else urls
        options = {"sha256": SUM, "sleep": pauses.append, "timeout": (2, 0.5), **options}
        fetch(urls, tmp_path / "data.bin", **options)
        return tmp_path / "data.bin"

    call.pauses = pauses
    return call


def left(folder):
    return sorted(p.name for p in folder.iterdir())


def part_of(tmp_path, content, **note):
    """Leave a part of an earlier call."""
    (tmp_path / "data.bin.part").write_bytes(content)
    if note:
        (tmp_path / "data.bin.part.json").write_text(json.dumps(note))


def test_a_whole_transfer(server, get, tmp_path):
    assert get(server.url + "/x").read_bytes() == DATA
    assert left(tmp_path) == ["data.bin"]
    assert server.requests[0][1]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("checksum", [SUM, None])
def test_two_cuts_cost_no_byte_twice(server, get, tmp_path, checksum):
    server.cuts = 2
    got = get(server.url + "/x", sha256=checksum, insecure=True)
    assert got.read_bytes() == DATA
    assert server.sent <= 1.05 * len(DATA)
    assert [h.get("If-Range") for _, h in server.requests] == [None, '"one"', '"one"']
    assert left(tmp_path) == ["data.bin"]


def test_more_cuts_than_tries_are_no_failure_while_bytes_come(server, get):
    server.cuts = 8
    assert get(server.url + "/x", tries=2).read_bytes() == DATA
    assert server.sent <= 1.05 * len(DATA)


def test_the_date_marks_a_version_where_the_etag_is_weak(server, get):
    server.cuts, server.etag, server.modified = 1, 'W/"one"', "Tue, 01 Dec 2026 10:00:00 GMT"
    server.honest = False
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA
    assert server.requests[1][1]["If-Range"] == server.modified
    assert server.sent <= 1.05 * len(DATA)


def test_without_any_mark_only_a_checksum_lets_it_go_on(server, get, tmp_path):
    server.cuts, server.etag = 1, None
    get(server.url + "/x")
    assert server.sent <= 1.05 * len(DATA)
    (tmp_path / "data.bin").unlink()
    server.cuts = 1
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA
    assert "Range" not in server.requests[-1][1]


def test_a_server_without_ranges_starts_again(server, get):
    server.cuts, server.ranges = 1, False
    assert get(server.url + "/x").read_bytes() == DATA


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("honest", [True, False])
def test_a_file_that_changes_midway_is_not_mixed(server, get, honest, checksum):
    new = DATA[::-1]

    def change(state):
        state.data, state.etag = new, '"two"'

    server.cuts, server.after_cut, server.honest = 1, change, honest
    expected = hashlib.sha256(new).hexdigest() if checksum else None
    got = get(server.url + "/x", sha256=expected, insecure=True)
    assert got.read_bytes() == new


def test_a_part_of_another_version_is_not_mixed(server, get, tmp_path):
    part_of(tmp_path, b"old" * 1000, url=server.url + "/x", mark='"zero"')
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA


def test_a_part_of_unknown_version_is_dropped_without_a_checksum(server, get, tmp_path):
    part_of(tmp_path, b"old" * 1000)
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA
    assert "Range" not in server.requests[0][1]


def test_a_part_from_one_address_is_finished_at_the_next(server, get, tmp_path):
    part_of(tmp_path, DATA[:700_000], url="https://dead.example.org/x", mark='"other"')
    assert get(server.url + "/x").read_bytes() == DATA
    assert server.sent == len(DATA) - 700_000


def test_pieces_that_do_not_fit_are_fetched_whole(server, get, tmp_path):
    part_of(tmp_path, b"old" * 1000, url="https://dead.example.org/x", mark='"other"')
    assert get(server.url + "/x").read_bytes() == DATA
    assert [("Range" in h) for _, h in server.requests] == [True, False]


def test_a_part_that_is_whole_needs_no_byte(server, get, tmp_path):
    part_of(tmp_path, DATA, url=server.url + "/x", mark='"one"')
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA  # by 416
    (tmp_path / "data.bin").unlink()
    part_of(tmp_path, DATA)
    assert get(server.url + "/x", size=len(DATA)).read_bytes() == DATA
    assert server.sent == 0
    assert len(server.requests) == 1


def test_416_starts_again(server, get, tmp_path):
    server.tells_416 = False
    part_of(tmp_path, b"x" * (len(DATA) + 5), url=server.url + "/x", mark='"one"')
    assert get(server.url + "/x").read_bytes() == DATA
    assert [("Range" in h) for _, h in server.requests] == [True, False]


def test_503_twice_waits_as_long_as_asked(server, get):
    server.busy, server.retry_after = 2, 7
    get(server.url + "/x")
    assert get.pauses == [7.0, 7.0]


def test_a_date_to_come_back_at(server, get):
    server.busy = 1
    server.retry_after = email.utils.formatdate(time.time() + 20, usegmt=True)
    get(server.url + "/x")
    assert 15 < get.pauses[0] <= 20


def test_nobody_waits_longer_than_thirty_seconds(server, get):
    server.busy, server.retry_after = 1, 3600
    get(server.url + "/x")
    assert get.pauses == [30.0]


def test_pauses_grow_and_stay_below_thirty_seconds(server, get, tmp_path):
    server.busy, server.retry_after = 99, None
    with pytest.raises(TransferError, match=r"status 503 \(7 times\)"):
        get(server.url + "/x", tries=7)
    assert get.pauses == [1, 2, 4, 8, 16, 30]


def test_a_stalled_connection_is_given_up_and_taken_up_again(server, get):
    server.cuts, server.stall = 1, 3
    begun = time.monotonic()
    assert get(server.url + "/x").read_bytes() == DATA
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize("page", ["/page", "/sly-page", "/commented-page"])
def test_an_html_page_is_no_data(server, get, tmp_path, page):
    part_of(tmp_path, DATA[:1000], url=server.url + page, mark='"yesterday"')
    with pytest.raises(TransferError, match="an HTML page came in place of data"):
        get(server.url + page)
    assert (tmp_path / "data.bin.part").read_bytes() == DATA[:1000]
    assert not (tmp_path / "data.bin").exists()


def test_a_page_that_is_wanted_comes(server, tmp_path):
    fetch([server.url + "/page"], tmp_path / "about.html", insecure=True)
    assert b"log in" in (tmp_path / "about.html").read_bytes()


def test_bytes_in_another_encoding_are_no_data(server, get):
    with pytest.raises(TransferError, match="encoding 'gzip'"):
        get(server.url + "/packed")


def test_a_gz_file_is_kept_as_sent_and_a_cut_one_is_seen(server, tmp_path):
    packed = gzip.compress(DATA, mtime=0)
    options = {"insecure": True, "sleep": lambda _: None, "tries": 2}
    server.data, server.sized = packed, False
    fetch([server.url + "/packed"], tmp_path / "a.gz", **options)
    assert (tmp_path / "a.gz").read_bytes() == packed
    server.data = packed[:-20]
    with pytest.raises(TransferError, match="has no end"):
        fetch([server.url + "/x"], tmp_path / "b.gz", **options)
    assert left(tmp_path) == ["a.gz"]


def test_a_wrong_length_is_refused(server, get, tmp_path):
    server.short, server.tells_416 = 10, False
    with pytest.raises(TransferError, match="3 times"):
        get(server.url + "/x", tries=3)
    assert "data.bin" not in left(tmp_path)
    assert len(server.requests) < 10  # a part fetched again and again is no progress
    with pytest.raises(TransferError, match=f"offers {len(DATA) + 10} bytes, the table says"):
        get(server.url + "/x", size=len(DATA))


def test_a_wrong_length_that_the_server_takes_back_costs_no_byte(server, get):
    server.short = 10
    assert get(server.url + "/x").read_bytes() == DATA
    assert server.sent == len(DATA)


def test_wrong_bytes_go_to_the_next_address(server, get, tmp_path):
    good = tmp_path / "good.bin"
    good.write_bytes(DATA)
    server.data = DATA[:-1] + b"!"
    assert get([server.url + "/x", good.as_uri()]).read_bytes() == DATA
    with pytest.raises(TransferError) as error:
        get([server.url + "/x", server.url + "/missing"], sha256="0" * 64)
    assert "sha256 is" in str(error.value)
    assert "/missing: status 404" in str(error.value)


def test_404_goes_on_at_once(server, get, tmp_path):
    with pytest.raises(TransferError, match="status 404"):
        get(server.url + "/missing")
    assert len(server.requests) == 1
    assert get.pauses == []


@pytest.mark.parametrize("size", [len(DATA), None])
def test_a_full_disk_is_seen_before(server, get, tmp_path, monkeypatch, size):
    free = shutil._ntuple_diskusage(100, 99, int(1.05 * len(DATA)))
    monkeypatch.setattr(part.shutil, "disk_usage", lambda _: free)
    with pytest.raises(TransferError, match=r"needs 1\.1 MiB, 1\.0 MiB are free"):
        get(server.url + "/x", size=size)
    assert len(server.requests) == (0 if size else 1)
    assert left(tmp_path) == []


def test_plain_http_needs_a_checksum(server, get, tmp_path):
    with pytest.raises(TransferError, match="plain http"):
        get(server.url + "/x", sha256=None)
    with pytest.raises(TransferError, match="plain http"):
        get("http://example.org/x", sha256=None, insecure=True)
    assert get(server.url + "/x", sha256=None, insecure=True).read_bytes() == DATA


def test_redirects_are_followed(server, get):
    assert get(server.url + "/moved").read_bytes() == DATA


@pytest.mark.parametrize(
    ("url", "target", "refused"),
    [
        ("https://a.org/x", "http://b.org/x", True),
        ("https://a.org/x", "HTTP://b.org/x", True),
        ("https://a.org/x", "//b.org/x", False),
        ("https://a.org/x", "/y", False),
        ("http://a.org/x", "https://b.org/x", False),
    ],
)
def test_https_may_not_become_http(url, target, refused):
    """Refused before anything is sent to the other address."""
    answer = requests.Response()
    answer.status_code, answer.url, answer.headers["Location"] = 302, url, target
    with transfer._session() as session:
        if refused:
            with pytest.raises(NextUrl, match="from https to http"):
                session.get_redirect_target(answer)
        else:
            assert session.get_redirect_target(answer) == target


def test_a_file_address_and_no_address(get, tmp_path):
    source = tmp_path / "with space \N{LATIN SMALL LETTER U WITH DIAERESIS}.bin"
    source.write_bytes(DATA)
    assert get(["file:///nowhere/x", source.as_uri()], size=len(DATA)).read_bytes() == DATA
    with pytest.raises(TransferError, match="no address is given"):
        fetch([], tmp_path / "y")


def test_a_dead_address_is_told_without_its_keys(get, caplog):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: refused at once
        url = f"http://me:secret@127.0.0.1:{taken.getsockname()[1]}/x?token=secret"
        with pytest.raises(TransferError, match=r"no connection.*2 times") as error:
            get(url, tries=2)
    assert "secret" not in str(error.value) + caplog.text


def test_keys_in_addresses_are_not_shown():
    url = "https://me:secret@host.org:8443/a/b?token=secret#x"
    assert shown(url) == "https://host.org:8443/a/b"


def test_progress_lines_every_ten_percent(server, get, caplog):
    caplog.set_level(logging.INFO, "headwater")
    get(server.url + "/x")
    lines = [r.message for r in caplog.records if "%" in r.message]
    assert 5 <= len(lines) <= 10
    assert lines[-1].startswith("data.bin: 100 %")


def test_two_at_once_fetch_once(server, tmp_path):
    dest = tmp_path / "data.bin"
    jobs = [
        threading.Thread(target=fetch, args=([server.url + "/x"], dest), kwargs={"sha256": SUM})
        for _ in range(4)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert dest.read_bytes() == DATA
    assert server.sent == len(DATA)
    assert left(tmp_path) == ["data.bin"]


def test_a_killed_transfer_goes_on(server, tmp_path):
    server.cuts, server.stall = 1, 30
    code = (
        "import sys\nfrom headwater.core.transfer import fetch\n"
        "fetch([sys.argv[1]], sys.argv[2], sha256=sys.argv[3])\n"
    )
    dest = tmp_path / "data.bin"
    job = subprocess.Popen([sys.executable, "-c", code, server.url + "/x", str(dest), SUM])
    part = tmp_path / "data.bin.part"
    end = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size >= len(DATA) // 3):
        assert time.monotonic() < end
        time.sleep(0.02)
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    assert not dest.exists()
    server.stall = 0
    fetch([server.url + "/x"], dest, sha256=SUM)
    assert dest.read_bytes() == DATA
    assert server.sent <= 1.05 * len(DATA)


@pytest.mark.slow
def test_a_peer_gets_the_same_file_with_more_bytes(server, get, tmp_path):
    pooch = pytest.importorskip("pooch", reason="the peer pooch is not installed")
    server.cuts = 2
    ours = get(server.url + "/x").read_bytes()
    spent, server.sent, server.cuts = server.sent, 0, 2
    peer = pooch.create(tmp_path / "peer", server.url, registry={"x": SUM}, retry_if_failed=3)
    assert Path(peer.fetch("x")).read_bytes() == ours
    assert pooch.file_hash(tmp_path / "data.bin") == SUM
    assert spent <= 1.05 * len(DATA) < server.sent


@pytest.fixture
def row():
    return {
        "dataset": "d",
        "file": "counts/d/data.bin",
        "urls": "",
        "sha256": SUM,
        "bytes": str(len(DATA)),
        "licence": "",
        "citation": "",
        "registration": "Ask the authors.",
    }


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "mirror/counts/d/data.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    return path


def test_local_before_mirror_before_network(row, source, tmp_path):
    row["urls"] = "https://example.org/x"
    dest, mirror = tmp_path / "dl/counts/d/data.bin", tmp_path / "mirror"
    assert locate(row, dest, mirror)[:2] == ("mirror", source)
    assert locate(row, dest)[:2] == ("network", None)
    assert locate(row, dest, tmp_path / "empty").kind == "network"
    assert locate(row, dest, tmp_path / "empty", offline=True).kind == "absent"
    assert locate(row | {"urls": ""}, dest).kind == "absent"
    dest.parent.mkdir(parents=True)
    dest.write_bytes(DATA)
    assert locate(row, dest, mirror, offline=True)[:2] == ("local", dest)


def test_what_is_there_is_used_offline_and_checked(row, tmp_path):
    dest = tmp_path / "data.bin"
    dest.write_bytes(DATA)
    assert obtain(row, dest, offline=True).kind == "local"
    dest.write_bytes(b"changed")
    with pytest.raises(InputError) as error:
        obtain(row, dest, offline=True)
    assert SUM in error.value.line()
    assert hashlib.sha256(b"changed").hexdigest() in error.value.line()
    assert dest.read_bytes() == b"changed"


def test_a_file_system_without_links_gets_a_copy(row, source, tmp_path, monkeypatch):
    def refuse(*a, **k):
        raise PermissionError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    dest = tmp_path / "dl/x"
    obtain(row, dest, tmp_path / "mirror")
    assert not dest.is_symlink()
    assert dest.read_bytes() == DATA
    assert left(dest.parent) == ["x"]


def test_the_mirror_is_read_in_place(row, source, tmp_path):
    dest = tmp_path / "dl/counts/d/data.bin"
    obtain(row, dest, mirror=tmp_path / "mirror", offline=True)
    assert dest.is_symlink()
    assert dest.resolve() == source.resolve()
    obtain(row, dest, mirror=tmp_path / "mirror")
    source.write_bytes(b"changed")
    with pytest.raises(InputError, match=SUM):
        obtain(row, dest, mirror=tmp_path / "mirror")


def test_a_known_copy_of_another_checksum_is_taken_from_the_mirror(row, source, tmp_path):
    upstream = "0" * 64
    obtain(row | {"sha256": f"{upstream} {SUM}"}, tmp_path / "dl/x/a", tmp_path / "mirror")
    with pytest.raises(InputError, match=upstream):
        obtain(row | {"sha256": upstream}, tmp_path / "dl/x/b", tmp_path / "mirror")


def test_the_network_must_give_the_first_checksum(row, server, tmp_path):
    row |= {"urls": server.url + "/x", "sha256": f"{'0' * 64} {SUM}"}
    with pytest.raises(InputError, match="0" * 64):
        obtain(row, tmp_path / "dl/x")


def test_offline_and_absent_names_both_ways_out(row, tmp_path):
    with pytest.raises(InputError) as error:
        obtain(row | {"urls": "https://example.org/x"}, tmp_path / "dl/x", offline=True)
    text = error.value.line()
    assert "the run is offline" in text
    assert "Put the file at" in text
    assert "HEADWATER_MIRROR" in text


def test_no_address_says_where_to_ask(row, tmp_path):
    with pytest.raises(InputError, match="Ask the authors"):
        obtain(row, tmp_path / "dl/x")


def test_a_checksum_seen_first_is_held_to_ever_after(row, source, tmp_path):
    dest = tmp_path / "dl/counts/d/data.bin"
    row["sha256"] = ""
    obtain(row, dest, mirror=tmp_path / "mirror")
    assert (tmp_path / "dl/SHA256SUMS").read_text() == f"{SUM}  counts/d/data.bin\n"
    source.write_bytes(b"other")
    other = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(InputError) as error:
        obtain(row, dest, mirror=tmp_path / "mirror")
    assert SUM in str(error.value)
    assert other in str(error.value)


def test_many_jobs_record_their_checksums_at_once(row, source, tmp_path):
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{SUM}  half a li")  # a writer was killed here

    def job(number):
        name = f"counts/d/{number}.bin"
        shutil.copyfile(source, source.with_name(f"{number}.bin"))
        one = row | {"file": name, "sha256": ""}
        obtain(one, tmp_path / f"dl/{number}", tmp_path / "mirror", sums=sums)

    jobs = [threading.Thread(target=job, args=(n,)) for n in range(12)]
    for one in jobs:
        one.start()
    for one in jobs:
        one.join()
    lines = sums.read_text().splitlines()
    assert sorted(lines[1:]) == sorted(f"{SUM}  counts/d/{n}.bin" for n in range(12))


def test_a_job_waits_for_the_one_that_records(row, source, tmp_path):
    sums = tmp_path / "SHA256SUMS"
    options = {"mirror": tmp_path / "mirror", "sums": sums}
    job = threading.Thread(
        target=obtain, args=(row | {"sha256": ""}, tmp_path / "x"), kwargs=options
    )
    with sums.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        job.start()
        job.join(0.2)
        assert job.is_alive()
        stream.write(f"{SUM}  {row['file']}\n")
    job.join(10)
    assert sums.read_text() == f"{SUM}  {row['file']}\n"


def test_a_download_is_obtained(row, server, tmp_path):
    dest = tmp_path / "dl/counts/d/data.bin"
    assert obtain(row | {"urls": server.url + "/x"}, dest).kind == "network"
    assert dest.read_bytes() == DATA


def test_a_failed_transfer_names_the_data_set_and_what_to_do(row, server, tmp_path):
    with pytest.raises(InputError) as error:
        obtain(row | {"urls": server.url + "/missing"}, tmp_path / "dl/x")
    for text in ("data set d", "/missing: status 404", "Put the file at", "run again"):
        assert text in error.value.line()


HEAD = "dataset\tfile\turls\tsha256\tbytes\tlicence\tcitation\tregistration\n"


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("a\t/etc/passwd\t\t\t\t\t\t\n", "row 2, column file"),
        ("a\t../x\t\t\t\t\t\t\n", "row 2, column file"),
        ("a\tx\t\tabc\t\t\t\t\n", "row 2, column sha256"),
        ("a\tx\t\t\tmany\t\t\t\n", "row 2, column bytes"),
        ("a\tx\tftp://h/x\t\t\t\t\t\n", "row 2, column urls"),
        ("a\tx\thttp://h/x\t\t\t\t\t\n", "sha256 beside plain http"),
        ("a\tx\t\t\t\t\t\t\n" * 2, "row 3, column file"),
    ],
)
def test_faults_of_the_table_are_named(tmp_path, rows, text):
    (tmp_path / "t.tsv").write_text(HEAD + rows)
    with pytest.raises(InputError, match=text):
        read_datasets(tmp_path / "t.tsv")


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / "t.tsv").write_text(HEAD.replace("sha256", "sha") + "\n")
    with pytest.raises(InputError, match=r"no column 'sha256'.*'sha'"):
        read_datasets(tmp_path / "t.tsv")


def test_our_table_describes_the_mirror(mirror):
    for row in read_datasets(ROOT / "config/datasets.tsv"):
        path = mirror / row["file"]
        if row["bytes"]:  # one size only where there is one known version
            assert path.stat().st_size == int(row["bytes"])
        known = row["sha256"].split()
        assert hashlib.sha256(path.read_bytes()).hexdigest() in known


def make_tar(path, name, content=b"x", link=None):
    with tarfile.open(path, "w:gz") as opened:
        member = tarfile.TarInfo(name)
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, link
            opened.addfile(member)
        else:
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))


def test_unpacking_is_whole_or_absent_and_stays_inside(tmp_path):
    make_tar(tmp_path / "good.tar.gz", "a/b.txt", b"hello")
    unpack(tmp_path / "good.tar.gz", tmp_path / "out")
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"hello"
    make_tar(tmp_path / "climb.tar.gz", "../b.txt")
    make_tar(tmp_path / "link.tar.gz", "b", link="/etc/passwd")
    make_tar(tmp_path / "bomb.tar.gz", "b", b"0" * 100_000)
    with zipfile.ZipFile(tmp_path / "climb.zip", "w") as opened:
        opened.writestr("../../b.txt", "x")
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as opened:
        member = zipfile.ZipInfo("b")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(member, "/etc/passwd")
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "good.tar.gz").read_bytes()[:40])
    (tmp_path / "page.zip").write_bytes(b"<html>no archive</html>")
    before = left(tmp_path)
    for name in (
        "climb.tar.gz",
        "link.tar.gz",
        "climb.zip",
        "link.zip",
        "bomb.tar.gz",
        "cut.tar.gz",
        "page.zip",
    ):
        with pytest.raises(InputError):
            unpack(tmp_path / name, tmp_path / f"out-{name}", max_bytes=10_000)
        assert not (tmp_path / f"out-{name}").exists()
    assert left(tmp_path) == before
    with pytest.raises(InputError, match="there already"):
        unpack(tmp_path / "good.tar.gz", tmp_path / "out")
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"hello"


def test_a_bomb_is_refused_at_its_header(tmp_path):
    make_tar(tmp_path / "bomb.tar.gz", "b", b"0" * 50_000_000)
    begun = time.process_time()
    with pytest.raises(InputError, match="more than 10000 bytes"):
        unpack(tmp_path / "bomb.tar.gz", tmp_path / "out", max_bytes=10_000)
    assert time.process_time() - begun < 0.05
