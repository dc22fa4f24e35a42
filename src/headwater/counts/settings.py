"""How a data set is read and filtered: one flat set of options with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headwater.core.config import nearest
from headwater.core.errors import InputError

FEATURE_LISTS = {
    # The taxa that the paper keeps of the gnotobiotic mice.
    "paper_mice_13": (
        "Clostridium-scindens",
        "Bacteroides-ovatus",
        "Parabacteroides-distasonis",
        "Akkermansia-muciniphila",
        "Roseburia-hominis",
        "Clostridium-difficile",
        "Clostridium-ramosum",
        "Proteus-mirabilis",
        "Escherichia-coli",
        "Bacteroides-fragilis",
        "Bacteroides-vulgatus",
        "Ruminococcus-obeum",
        "Klebsiella-oxytoca",
    ),
}
CHOICES = {
    "orientation": ("auto", "features_by_samples", "samples_by_features", "long"),
    "rest": ("other", "drop"),
    "replicates": ("sum", "first", "error"),
    "series_by": ("auto", "year", "location"),
    "cell_weights": ("equal", "area"),
}

INFINITE = float("inf")
LIMITS = {
    "min_library": (0, INFINITE),
    "min_prevalence": (0, 1),
    "min_proportion": (0, 1),
    "min_steps": (3, INFINITE),
    "min_valid": (0, 1),
}


@dataclass(frozen=True)
class PrepareSettings:
    """Options of reading, event counting and filtering.

    Attributes
    ----------
    orientation : auto | features_by_samples | samples_by_features | long
        Layout of a text table; `auto` looks where the ids of the metadata stand.
    sample, series, time : str
        Columns of the metadata (of the table itself when it is long).
    id_prefix : str
        Text before the sample ids of the table that the metadata does not have.
    feature, count : str
        Columns of a long table.
    time_units : str
        Shown on axes.
    covariates : sequence of str
        Metadata columns, one value per series.
    keep : mapping
        Metadata column -> the value (or values) that samples must have.
    rank, unknown : str
        Taxonomic rank to sum up to; the word for an absent label.
    min_library : int
        Reads that a sample needs.
    min_prevalence, min_proportion : float
        Share of samples in which a feature must occur, and mean proportion it must reach.
    rest : other | drop
        What becomes of features that the filter removes.
    features : str or sequence of str
        Keep exactly these (a named list, or names); the filter is then not used.
    offset : str
        ``library`` (sum over all features before filtering), ``logsum`` (sum after filtering
        + 1, the paper's), ``constant``, or a metadata column with exposures.
    replicates : sum | first | error
        What to do with samples of the same series and time.
    min_steps : int
        Observed steps that a series needs.
    events : sequence of str
        Names in the event catalogue; empty: all whose variable is there.
    series_by : auto | year | location
        Climate: a series per year with months as steps, or per location over all periods.
    freq : str
        Climate: length of a step, a pandas frequency such as MS.
    min_valid : float
        Share of the days of a period that must be valid for it to count as observed.
    regions : mapping
        Name -> [south, north, west, east] in degrees, or the name of a mask variable in the
        files; cells are pooled per region.
    cell_weights : equal | area
        Whether the exposure of a region weights its cells by area; counts are never weighted.
    base : (int, int)
        First and last year of the base period of percentile thresholds.
    variables : mapping
        Name in the catalogue -> name in the file.
    """

    orientation: str = "auto"
    sample: str = "sample_id"
    id_prefix: str = ""
    series: str = "series"
    time: str = "time"
    feature: str = "feature"
    count: str = "count"
    time_units: str = ""
    covariates: tuple[str, ...] = ()
    keep: Mapping[str, Any] = field(default_factory=dict)
    rank: str = ""
    unknown: str = "unclassified"
    min_library: int = 1000
    min_prevalence: float = 0.1
    min_proportion: float = 1e-4
    rest: str = "other"
    features: tuple[str, ...] = ()
    offset: str = "library"
    replicates: str = "sum"
    min_steps: int = 3
    events: tuple[str, ...] = ()
    series_by: str = "auto"
    freq: str = "MS"
    min_valid: float = 0.8
    regions: Mapping[str, Any] = field(default_factory=dict)
    cell_weights: str = "equal"
    base: tuple[int, int] = (1961, 1990)
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> PrepareSettings:
        """Return checked settings; numbers and lists may be text (``1000``, ``a,b``).

        Raises
        ------
        InputError
            For an unknown key, an unknown choice or a value of another kind.
        """
        known = [f.name for f in fields(cls)]
        given = dict(values)
        for key in given:
            if key not in known:
                raise InputError(
                    None, f"counts.prepare.{key}", "an unknown key", "", nearest(key, known)
                )
        for key in {"covariates", "events", "features", "base"} & set(given):
            given[key] = _listed(given[key])
        if "base" in given:
            given["base"] = tuple(_number(v) for v in given["base"])
        for key in set(LIMITS) & set(given):
            given[key] = _number(given[key])
        if "features" in given:
            given["features"] = _feature_list(given["features"])
        _check_types(given)
        settings = cls(**given)
        for key, choices in CHOICES.items():
            value = getattr(settings, key)
            if value not in choices:
                raise InputError(
                    None,
                    f"counts.prepare.{key}",
                    repr(value),
                    "one of " + ", ".join(choices),
                    nearest(str(value), choices),
                )
        return settings


def _listed(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return tuple(v.strip() for v in value.split(",") if v.strip())
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _number(value: Any) -> Any:
    """Return text as the number it says, anything else as it is."""
    if isinstance(value, str):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
    return value


def _check_types(given: Mapping[str, Any]) -> None:
    """Raise an error for numbers out of range and for values of another type."""
    for key, (low, high) in LIMITS.items():
        value = given.get(key, low)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            span = f"a number of {low} or more" if high == INFINITE else f"{low}..{high}"
            raise InputError(
                None, f"counts.prepare.{key}", repr(value), span, f"Set prepare {key} to a number."
            )
    for key in ("keep", "regions", "variables"):
        if not isinstance(given.get(key, {}), Mapping):
            raise InputError(
                None,
                f"counts.prepare.{key}",
                repr(given[key]),
                "names and values",
                f"Write {key}.NAME=VALUE.",
            )
    base = given.get("base", (0, 1))
    if len(base) != 2 or not all(isinstance(y, int) for y in base) or base[0] > base[1]:
        hint = "Write base=FIRST,LAST."
        raise InputError(None, "counts.prepare.base", repr(base), "first and last year", hint)
    for key in given:
        text = key not in {*LIMITS, "keep", "regions", "variables", "base"}
        if text and not all(isinstance(v, str) for v in _listed(given[key])):
            hint = "Put a number that is a name in quotes."
            raise InputError(None, f"counts.prepare.{key}", repr(given[key]), "text", hint)


def _feature_list(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) == 1 and names[0] in FEATURE_LISTS:
        return FEATURE_LISTS[names[0]]
    return names
