"""Sum features up to a taxonomic rank."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .metadata import read_text
from .settings import PrepareSettings

RANKS = ("Kingdom", "Phylum", "Class", "Order", "Family", "Genus", "Species")


def read_taxonomy(path: str | Path) -> pd.DataFrame:
    """Return a taxonomy, features down and ranks across.

    The first column names the feature. QIIME's single column ``Taxon`` (``k__A; p__B; ...``) is
    split. An empty cell or NA is an absent label.

    Raises
    ------
    InputError
        For a file that is no taxonomy, or a feature that stands twice.
    """
    table = read_text(path, index_col=0).fillna("")
    if "Taxon" in table:
        parts = table["Taxon"].str.split(r";\s*", expand=True).fillna("")
        parts = parts.replace(r"^[a-z]__", "", regex=True).iloc[:, : len(RANKS)]
        table = parts.set_axis(list(RANKS)[: parts.shape[1]], axis=1)
    table = table.rename(columns=lambda c: {"Domain": "Kingdom"}.get(c.title(), c.title()))
    if not set(table.columns) & set(RANKS):
        raise InputError(
            path,
            "header",
            "no rank",
            "columns such as " + ", ".join(RANKS),
            "Name the columns by rank, or give one column Taxon.",
        )
    if table.index.has_duplicates:
        name = table.index[table.index.duplicated()][0]
        raise InputError(
            path, f"feature {name!r}", "a second row", "each feature once", "Remove one of the two."
        )
    return table.apply(lambda column: column.str.strip())


def aggregate(
    table: pd.DataFrame, taxonomy: pd.DataFrame, options: PrepareSettings, path: str | Path
) -> pd.DataFrame:
    """Return samples x taxa at ``options.rank``; without a rank, samples x features as they are.

    Features are one taxon when all their labels down to the rank agree. One without a label
    there counts to ``<lowest known> <unknown>``. Taxa of one name in different parents
    (*uncultured*, *Incertae Sedis*) stay apart: the parent's name is put before theirs.

    Raises
    ------
    InputError
        For an unknown rank or features that the taxonomy lacks.
    """
    if not options.rank:
        return table
    ranks = [r for r in RANKS if r in taxonomy]
    if options.rank not in ranks:
        raise InputError(
            path,
            "counts.prepare.rank",
            repr(options.rank),
            "one of " + ", ".join(ranks),
            nearest(options.rank, ranks),
        )
    lacking = [f for f in table.columns if f not in taxonomy.index]
    if lacking:
        raise InputError(
            path,
            "",
            f"{len(lacking)} features without taxonomy ({', '.join(map(str, lacking[:3]))})",
            "every feature of the table",
            "Add them to the taxonomy, with empty labels where unknown.",
        )
    upto = ranks[: ranks.index(options.rank) + 1]
    lineages = [tuple(row) for row in taxonomy.loc[table.columns, upto].to_numpy()]
    names = _names(list(dict.fromkeys(lineages)), options.unknown)
    return table.T.groupby([names[x] for x in lineages], sort=False).sum().T


def _names(lineages: list[tuple[str, ...]], unknown: str) -> dict[tuple[str, ...], str]:
    """Return a name of its own for each lineage, as short as that allows."""
    names = {x: _label(x, unknown) for x in lineages}
    often = Counter(names.values())
    for x, name in names.items():
        parents = [v for v in x if v][:-1]
        if often[name] > 1 and parents:
            names[x] = f"{parents[-1]} {name}"
    often = Counter(names.values())
    return {x: "; ".join(x) if often[n] > 1 else n for x, n in names.items()}


def _label(lineage: tuple[str, ...], unknown: str) -> str:
    known = [v for v in lineage if v]
    if known and lineage[-1]:
        return lineage[-1]
    return f"{known[-1]} {unknown}" if known else unknown
