"""Outputs are whole or absent, and equal inputs give equal bytes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from headwater.core import io
from headwater.core.errors import InputError


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "a.txt"
    io.write_text(path, "old")
    with pytest.raises(RuntimeError), io.atomic(path) as tmp:
        tmp.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_killed_writer_leaves_no_file_under_the_final_name(tmp_path):
    code = (
        "import sys, time\nfrom headwater.core import io\n"
        f"with io.atomic({str(tmp_path / 'a.txt')!r}) as tmp:\n"
        "    tmp.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    job = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert not (tmp_path / "a.txt").exists()
    assert len(list(tmp_path.iterdir())) == 1
    io.write_text(tmp_path / "b-a.txt", "another file")
    io.write_text(tmp_path / "a.txt", "whole")
    assert {p.name for p in tmp_path.iterdir()} == {"a.txt", "b-a.txt"}


def test_what_a_living_process_writes_stays(tmp_path):
    with io.atomic(tmp_path / "a.txt") as tmp:
        tmp.write_text("half")
        io.write_text(tmp_path / "a.txt", "whole")
        assert tmp.exists()
    elsewhere = tmp_path / ".tmp-0123abcd-1-x-a.txt"  # of another machine
    elsewhere.write_text("half")
    io.write_text(tmp_path / "a.txt", "whole")
    assert elsewhere.exists()
    os.utime(elsewhere, (1e9, 1e9))
    io.write_text(tmp_path / "a.txt", "whole")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_permissions_follow_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        io.write_text(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.tsv.gz", "a.csv.gz"])
def test_tables_come_back_and_repeat_byte_for_byte(tmp_path, name):
    table = pd.DataFrame({"x": [1.5, 0.1 + 0.2], "name": ["Äpfel", "null"]})
    io.write_table(tmp_path / name, table)
    first = (tmp_path / name).read_bytes()
    time.sleep(1.1)  # gzip headers hold whole seconds
    io.write_table(tmp_path / name, table)
    assert (tmp_path / name).read_bytes() == first
    pd.testing.assert_frame_equal(io.read_table(tmp_path / name), table)


def test_datasets_keep_minus_one_and_their_types(tmp_path):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {
            "counts": (("series", "step"), np.array([[1, -1]], dtype="int32")),
            "observed": (("series", "step"), np.array([[1, 0]], dtype="int8")),
            "exposure": (("series", "step"), np.array([[2.0, np.nan]])),
        },
        coords={"series": ["a ö"]},
    )
    io.write_dataset(tmp_path / "a.nc", data)
    first = (tmp_path / "a.nc").read_bytes()
    back = io.read_dataset(tmp_path / "a.nc")
    xr.testing.assert_identical(back, data)
    assert back.counts.dtype == np.int32
    io.write_dataset(tmp_path / "a.nc", data)
    assert (tmp_path / "a.nc").read_bytes() == first


def test_torch_files_refuse_objects(tmp_path):
    torch = pytest.importorskip("torch")
    io.write_torch(tmp_path / "a.pt", {"x": torch.arange(3), "name": "a"})
    assert io.read_torch(tmp_path / "a.pt")["x"].tolist() == [0, 1, 2]
    io.write_torch(tmp_path / "again.pt", {"x": torch.arange(3), "name": "a"})
    assert (tmp_path / "again.pt").read_bytes() == (tmp_path / "a.pt").read_bytes()
    torch.save({"x": os.path.join}, tmp_path / "b.pt")
    with pytest.raises(Exception, match=r"[Ww]eights"):
        io.read_torch(tmp_path / "b.pt")


def test_json_is_plain_and_has_no_nan(tmp_path):
    io.write_json(tmp_path / "a.json", {"a": np.float64("nan"), "b": np.arange(2), "c": (1, "ö")})
    assert io.read_json(tmp_path / "a.json") == {"a": None, "b": [0, 1], "c": [1, "ö"]}


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_figures_repeat_byte_for_byte(tmp_path, suffix):
    plt = pytest.importorskip("matplotlib.pyplot")
    contents = []
    for k in range(2):
        figure, axes = plt.subplots()
        axes.plot([0, 1], [0, 1])
        io.write_figure(tmp_path / f"{k}.{suffix}", figure)
        plt.close(figure)
        contents.append((tmp_path / f"{k}.{suffix}").read_bytes())
        time.sleep(1.1 if k == 0 else 0)
    assert contents[0] == contents[1]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_json_lines_come_back_and_equal_records_give_equal_bytes(tmp_path, name):
    records = [{"text": "Überlast \u2028 am Knoten 3", "value": 0.1}, {"list": [1, None, True]}]
    io.write_lines(tmp_path / name, records)
    assert io.read_lines(tmp_path / name) == records
    first = (tmp_path / name).read_bytes()
    io.write_lines(tmp_path / name, records)
    assert (tmp_path / name).read_bytes() == first


def test_a_broken_line_is_named_and_nan_is_null(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": \n')
    with pytest.raises(InputError, match=r"a\.jsonl, line 3: found no JSON"):
        io.read_lines(tmp_path / "a.jsonl")
    io.write_lines(tmp_path / "b.jsonl", [{"a": float("nan")}])
    assert io.read_lines(tmp_path / "b.jsonl") == [{"a": None}]
