"""Attacks that the sandbox has to contain, and programs that it must let live."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headwater.core import sandbox
from headwater.core.sandbox import Limits, run

SHORT = Limits(cpu_s=5, wall_s=6, memory_mb=1024, processes=40)


def python(code, limits=SHORT, **options):
    return run([sys.executable, "-c", code], limits=limits, **options)


def needs(name):
    return pytest.mark.skipif(
        name not in sandbox.available(), reason=f"this kernel does not isolate {name}"
    )


def running(mark):
    """Return whether a process with `mark` in its command line is alive."""
    found = subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True, check=False)
    return bool(found.stdout.strip())


def test_a_good_program_sees_its_files_and_leaves_results():
    result = run(
        [sys.executable, "main.py"],
        {
            "main.py": "open('out.txt','w').write(open('in.txt').read()*2); print('fine')",
            "in.txt": "ab",
        },
        SHORT,
        keep=["out.txt", "nothing.txt"],
    )
    assert (result.status, result.returncode, result.stdout) == ("ok", 0, "fine\n")
    assert result.files == {"out.txt": b"abab"}
    assert 0 < result.cpu_s < 5


def test_the_folder_is_empty_and_gone_afterwards():
    result = python("import os; print(os.getcwd(), os.listdir('.'))")
    place, rest = result.stdout.split(" ", 1)
    assert rest.strip() == "[]"
    assert not Path(place).exists()


def test_failures_have_their_own_words():
    assert python("raise SystemExit(3)").status == "error"
    assert python("raise SystemExit(3)").returncode == 3
    assert "ZeroDivisionError" in python("1/0").stderr


def test_an_endless_loop_ends_at_its_cpu_limit():
    begin = time.monotonic()
    result = python("while True: pass", Limits(cpu_s=1, wall_s=30))
    assert result.status == "timeout"
    assert time.monotonic() - begin < 15


def test_a_sleeper_ends_at_its_wall_limit():
    begin = time.monotonic()
    assert python("import time; time.sleep(60)", Limits(wall_s=1)).status == "timeout"
    assert time.monotonic() - begin < 10


def test_ten_gigabytes_are_refused():
    assert python("a = bytearray(10 << 30)").status == "memory"


def test_endless_output_is_cut():
    result = python("while True: print('x' * 1000)", Limits(output_kb=64, wall_s=20))
    assert result.status == "output_limit"
    assert len(result.stdout) <= 64 * 1024


def test_a_huge_file_is_cut():
    result = python("f = open('a', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", Limits(file_mb=2))
    assert result.status in {"error", "signal"}


def test_a_fork_bomb_leaves_nothing():
    code = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass  # mark-fork-bomb"
    begin = time.monotonic()
    result = python(code, Limits(cpu_s=5, wall_s=8, processes=40))
    assert result.status in {"process_limit", "timeout", "signal", "error"}
    assert time.monotonic() - begin < 20
    assert not running("mark-fork-bomb")


@needs("processes")
def test_what_runs_in_the_background_is_gone_with_it():
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99) # mark-survivor'],"
        " start_new_session=True)\nprint('left')"
    )
    result = python(code)
    assert result.status == "ok"
    assert result.stdout == "left\n"
    assert not running("mark-survivor")


def test_a_pipe_held_open_by_a_survivor_does_not_hang():
    begin = time.monotonic()
    run(["sh", "-c", "(sleep 50 &) ; echo done"], limits=Limits(wall_s=20))
    assert time.monotonic() - begin < 15


@needs("network")
def test_no_network_not_even_to_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = python(f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
    assert result.status == "error"
    assert "unreachable" in result.stderr or "refused" in result.stderr
    assert result.network_isolated


@needs("files")
def test_files_of_the_user_cannot_be_read_or_written(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    tmp_path.chmod(0o777)
    secret.chmod(0o666)
    result = python(f"print(open({str(secret)!r}).read())")
    assert result.status == "error"
    assert "the secret" not in result.stdout
    result = python(f"open({str(tmp_path / 'new.txt')!r}, 'w').write('x')")
    assert result.status == "error"
    assert not (tmp_path / "new.txt").exists()
    assert python("import os; print(os.listdir(os.path.expanduser('~root')))").status == "error"


def test_files_that_are_named_can_be_read_but_not_changed(tmp_path):
    tmp_path.chmod(0o755)
    data = tmp_path / "data.txt"
    data.write_text("given")
    code = f"print(open({str(data)!r}).read())"
    assert python(code, readable=[tmp_path]).stdout == "given\n"
    if "files" in sandbox.available():
        python(f"open({str(data)!r}, 'w').write('changed')", readable=[tmp_path])
        assert data.read_text() == "given"


def test_the_environment_is_not_inherited(monkeypatch):
    monkeypatch.setenv("HEADWATER_TEST_KEY", "not for programs")
    result = python("import os; print(sorted(os.environ)); print(os.environ['HOME'])")
    assert "HEADWATER_TEST_KEY" not in result.stdout
    assert "not for programs" not in result.stdout
    assert str(Path.home()) != result.stdout.splitlines()[1]


@needs("processes")
def test_the_parent_cannot_be_found_or_killed():
    code = (
        "import os, signal\n"
        f"for pid in ({os.getpid()}, os.getppid()):\n"
        "  try: os.kill(pid, signal.SIGKILL)\n"
        "  except Exception as error: print(type(error).__name__)"
    )
    python(code)
    assert os.getpid()  # we are still here
    listed = python("import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))")
    assert int(listed.stdout) <= 4


def test_links_to_files_of_the_user_are_not_brought_back(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    code = f"import os; os.symlink({str(secret)!r}, 'out.txt')"
    assert python(code, keep=["out.txt"]).files == {}
