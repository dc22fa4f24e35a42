"""All methods by name: one file and one line each.

`CLASSICAL` have a fit and a predict on arrays; `OBJECTIVES` are trained in one stage;
`PLANS` are MixEmo and its ablations, whose backbone and partition a fold shares.
"""

from __future__ import annotations

from dataclasses import replace

from .alignment import Coral, Dann, GroupDro
from .classical import (
    fit_logreg,
    fit_majority,
    fit_svm,
    predict_logreg,
    predict_majority,
    predict_svm,
)
from .erm import BalancedErm, Erm
from .mixemo import AgreeingMixEmo, CovarianceMixEmo, LatentMixEmo, MixEmo, Plan
from .mixup import Mixup

CLASSICAL = {
    "majority": (fit_majority, predict_majority),
    "logreg": (fit_logreg, predict_logreg),
    "svm": (fit_svm, predict_svm),
}
OBJECTIVES = {
    "erm": Erm,
    "balanced_erm": BalancedErm,
    "mixup": Mixup,
    "coral": Coral,
    "dann": Dann,
    "groupdro": GroupDro,
}
_PLAN = Plan()
PLANS = {
    "mixemo": (MixEmo, _PLAN),
    "mixemo_no_hda": (MixEmo, _PLAN.without_augmentation()),
    "mixemo_no_hdcl": (MixEmo, replace(_PLAN, lam_e=0.0, lam_c=0.0, lam_v=0.0)),
    "mixemo_no_var": (MixEmo, replace(_PLAN, lam_v=0.0)),
    "mixemo_no_extrap": (MixEmo, replace(_PLAN, recipe=replace(_PLAN.recipe, gamma_max=1.0))),
    "mixemo_subject": (MixEmo, replace(_PLAN, partition="subject")),
    "mixemo_sample": (MixEmo, replace(_PLAN, partition="sample")),
    "mixemo_random": (MixEmo, replace(_PLAN, partition="random")),
    # Variants of ours that look for a formulation that helps.
    "mixemo_latent": (
        LatentMixEmo,
        replace(_PLAN, recipe=replace(_PLAN.recipe, p_style=0.0)),
    ),
    "mixemo_covariance": (CovarianceMixEmo, _PLAN),
    "mixemo_agree": (AgreeingMixEmo, _PLAN),
}
METHODS = (*CLASSICAL, *OBJECTIVES, *PLANS)


def public_name(method: str) -> str:
    """Return a method's name in metrics.tsv: all but MixEmo and its variants are baselines."""
    if method == "majority":
        return "baseline:null_majority"
    return method if method in PLANS else f"baseline:{method}"
