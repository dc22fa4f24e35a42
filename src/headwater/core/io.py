"""Whole files or none: every writer goes through a temporary name in the same folder.

`atomic` is the mechanism; the writers below add nothing but the format and the settings
that make two equal inputs give equal bytes (no time stamps, fixed compression headers).
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InputError

if TYPE_CHECKING:
    import anndata
    import numpy as np
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

CHUNK = 1 << 20
DAY = 86_400  # seconds


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; put it in place if the block ends well.

    The temporary name keeps the suffixes of `path`, as many writers choose the format by
    them. On an exception the temporary file is removed and `path` is as it was before; what a
    killed process left is removed by the next one that writes `path`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left(path)
    prefix = f".tmp-{_machine()}-{os.getpid()}-"
    handle, name = tempfile.mkstemp(prefix=prefix, suffix="-" + path.name, dir=path.parent)
    os.close(handle)
    tmp = Path(name)
    try:
        yield tmp
        tmp.chmod(0o666 & ~_umask())
        sync(tmp)
        tmp.replace(path)
    except BaseException:
        tmp.unlink(missing_ok=True)
        raise


@cache
def _machine() -> str:
    """Return a name of this machine since it was started: process ids mean something on it."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    text = platform.node() + (boot.read_text() if boot.is_file() else "")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _remove_left(path: Path) -> None:
    """Remove temporary files of `path` whose process is no more, or that are a day old."""
    for left in path.parent.glob(f".tmp-*-{glob.escape(path.name)}"):
        _, machine, pid, *_ = [*left.name.split("-"), "", ""]
        with suppress(OSError):
            old = time.time() - left.stat().st_mtime > DAY
            if old or (machine == _machine() and pid.isdigit() and not _alive(int(pid))):
                left.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def sync(path: Path) -> None:
    """Force a written file to disk, so that a crash cannot leave a short one."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(path: str | Path) -> str:
    """Return the hexadecimal sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def write_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8 with Unix line ends."""
    with atomic(path) as tmp:
        tmp.write_text(text, encoding="utf-8", newline="\n")


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write bytes."""
    with atomic(path) as tmp:
        tmp.write_bytes(data)


def plain(value: Any) -> Any:
    """Return `value` with numpy scalars, arrays, paths and tuples as plain JSON values."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        items = sorted(value) if isinstance(value, set) else value
        return [plain(v) for v in items]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and value != value:
        return None
    return value


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON; NaN becomes null, numpy values become plain ones."""
    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_json(path: str | Path) -> Any:
    """Read JSON."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_lines(path: str | Path, records: Iterable[Any]) -> None:
    """Write JSON lines, one record a line, as the suffix says: .jsonl or .jsonl.gz."""
    text = "".join(
        json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records
    ).encode()
    write_bytes(path, gzip.compress(text, mtime=0) if str(path).endswith(".gz") else text)


def read_lines(path: str | Path) -> list[Any]:
    """Read JSON lines (.jsonl or .jsonl.gz); blank lines are skipped.

    Raises
    ------
    InputError
        Naming the file and the line that is no JSON.
    """
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode("utf-8")
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise InputError(
                path, f"line {number}", f"no JSON ({error.msg})", "one JSON object a line"
            ) from None
    return records


def write_yaml(path: str | Path, value: Any) -> None:
    """Write YAML in the order given."""
    import yaml

    write_text(path, yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True))


def read_yaml(path: str | Path) -> Any:
    """Read YAML safely (no objects)."""
    import yaml

    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def write_table(path: str | Path, table: pd.DataFrame, index: bool = False) -> None:
    """Write a table as the suffix says: .tsv .csv (each also .gz) or .parquet."""
    name = str(path)
    with atomic(path) as tmp:
        if name.endswith(".parquet"):
            table.to_parquet(tmp, index=index)
            return
        separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
        text = table.to_csv(sep=separator, index=index, lineterminator="\n").encode()
        # mtime=0 and no file name in the header: equal tables give equal bytes
        tmp.write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)


def read_table(path: str | Path, **options: Any) -> pd.DataFrame:
    """Read a .tsv, .csv (each also .gz) or .parquet table.

    Only an empty cell is missing: a method may be called ``null`` and a site ``NA``.
    """
    import pandas as pd

    name = str(path)
    if name.endswith(".parquet"):
        return pd.read_parquet(path, **options)
    separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
    options = {"keep_default_na": False, "na_values": [""], **options}
    return pd.read_csv(path, sep=separator, **options)


def write_dataset(path: str | Path, dataset: xr.Dataset, level: int = 4) -> None:
    """Write an xarray Dataset as NetCDF-4 (h5netcdf), numbers compressed, no fill values."""
    encoding = {}
    for name, variable in dataset.variables.items():
        options: dict[str, Any] = {"_FillValue": None}
        if variable.dtype.kind in "iuf" and variable.ndim:
            options |= {"zlib": True, "complevel": level}
        encoding[name] = options
    with atomic(path) as tmp:
        dataset.to_netcdf(tmp, engine="h5netcdf", encoding=encoding)


def read_dataset(path: str | Path) -> xr.Dataset:
    """Load a NetCDF file into memory as it stands (no decoding of times or fill values)."""
    import xarray as xr

    with xr.open_dataset(path, decode_times=False, mask_and_scale=False) as dataset:
        return dataset.load()


def write_h5ad(path: str | Path, data: anndata.AnnData) -> None:
    """Write an AnnData file."""
    with atomic(path) as tmp:
        data.write_h5ad(tmp)


def write_npz(path: str | Path, **arrays: np.ndarray) -> None:
    """Write named arrays."""
    import numpy as np

    with atomic(path) as tmp, tmp.open("wb") as stream:
        np.savez(stream, **arrays)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Read named arrays; no pickles."""
    import numpy as np

    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def write_torch(path: str | Path, state: Any) -> None:
    """Write tensors and plain values, readable with `weights_only=True`."""
    import torch

    # through a stream: given a path, torch writes the (temporary) file name into the archive
    with atomic(path) as tmp, tmp.open("wb") as stream:
        torch.save(state, stream)


def read_torch(path: str | Path) -> Any:
    """Read tensors and plain values; refuses pickled objects."""
    import torch

    return torch.load(path, map_location="cpu", weights_only=True)


def write_figure(path: str | Path, figure: Figure, dpi: int = 150) -> None:
    """Write a figure as the suffix says (svg, png, pdf), without dates or random ids."""
    import matplotlib as mpl

    suffix = Path(path).suffix.lstrip(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(suffix)
    with (
        atomic(path) as tmp,
        mpl.rc_context({"svg.hashsalt": "headwater", "svg.fonttype": "none"}),
    ):
        figure.savefig(tmp, format=suffix, dpi=dpi, metadata=metadata)
