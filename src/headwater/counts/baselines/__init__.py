"""Methods that stand beside the model on the same cube, offsets and folds.

`DECOMPOSITIONS` give a mixing matrix and sources of a whole cube, `FORECASTERS` learn from
training series and forecast others. A new one is one module of this package and one line here.
"""

from __future__ import annotations

from .common import Decomposition
from .fastica import FastICA
from .forecaster import Forecaster, forecast_origins
from .pca import PCA
from .persistence import Persistence
from .picard import Picard
from .pln_pca import PLNPCA
from .seasonal_mean import SeasonalMean
from .sobi import SOBI
from .training_mean import TrainingMean
from .var import CLRVAR

__all__ = ["DECOMPOSITIONS", "FORECASTERS", "Decomposition", "Forecaster", "forecast_origins"]

DECOMPOSITIONS: dict[str, Decomposition] = {
    "pca": PCA(),
    "fastica": FastICA(),
    "picard": Picard(),
    "sobi": SOBI(),
    "pln_pca": PLNPCA(),
}
FORECASTERS: dict[str, type[Forecaster]] = {
    "training_mean": TrainingMean,
    "persistence": Persistence,
    "seasonal_mean": SeasonalMean,
    "var": CLRVAR,
}
