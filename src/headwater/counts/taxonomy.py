"""Sum features up to a taxonomic rank (counts.md §9.1, point 3)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from headwater.core.config import nearest
from headwater.core.errors import InputError

from .settings import PrepareSettings

RANKS = ("Kingdom", "Phylum", "Class", "Order", "Family", "Genus", "Species")


def read_taxonomy(path: str | Path) -> pd.DataFrame:
    """Return a taxonomy, features down and ranks across.

    The first column names the feature. QIIME's single column ``Taxon`` (``k__A; p__B; ...``) is
    split.
    """
    path = Path(path)
    separator = "," if path.name.removesuffix(".gz").endswith(".csv") else "\t"
    table = pd.read_csv(path, sep=separator, dtype=str, index_col=0).fillna("")
    if "Taxon" in table:
        parts = table["Taxon"].str.split(r";\s*", expand=True).fillna("")
        parts = parts.replace(r"^[a-z]__", "", regex=True)
        table = parts.set_axis(list(RANKS)[: parts.shape[1]], axis=1)
    if not set(table.columns) & set(RANKS):
        raise InputError(path, "header", "no rank", "columns such as " + ", ".join(RANKS))
    return table


def aggregate(
    table: pd.DataFrame, taxonomy: pd.DataFrame, options: PrepareSettings, path: str | Path
) -> pd.DataFrame:
    """Return samples x taxa at ``options.rank``; without a rank, samples x features as they are.

    A feature without a label there counts to ``<lowest known> <unknown>``.

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
        )
    upto = ranks[: ranks.index(options.rank) + 1]
    labels = [_label(taxonomy.loc[f, upto], options.unknown) for f in table.columns]
    return table.T.groupby(labels, sort=False).sum().T


def _label(lineage: pd.Series, unknown: str) -> str:
    known = [v for v in lineage if v]
    if known and lineage.iloc[-1]:
        return lineage.iloc[-1]
    return f"{known[-1]} {unknown}" if known else unknown
