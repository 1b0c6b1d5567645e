"""Inter-annotator agreement, corrected for chance."""

from __future__ import annotations

from merilo.people.agreement.alpha import Level, krippendorff_alpha
from merilo.people.agreement.bootstrap import bootstrap
from merilo.people.agreement.kappa import fleiss_kappa, gwet_ac1
from merilo.people.agreement.measures import Agreement, agreement_by, majority_sizes, measure

__all__ = [
    "Agreement",
    "Level",
    "agreement_by",
    "bootstrap",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "majority_sizes",
    "measure",
]
