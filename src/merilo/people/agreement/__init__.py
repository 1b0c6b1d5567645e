"""Inter-annotator agreement, corrected for chance."""

from __future__ import annotations

from merilo.people.agreement.alpha import krippendorff_alpha
from merilo.people.agreement.jackknife import intervals
from merilo.people.agreement.kappa import fleiss_kappa, gwet_ac1
from merilo.people.agreement.measures import Agreement, agreement_by, majority_sizes, measure

__all__ = [
    "Agreement",
    "agreement_by",
    "fleiss_kappa",
    "gwet_ac1",
    "intervals",
    "krippendorff_alpha",
    "majority_sizes",
    "measure",
]
