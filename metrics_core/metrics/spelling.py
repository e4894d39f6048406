"""Metrics as other libraries and people write them, and the label that is meant: `recall@20` is `R@20`.

Nothing is read in another spelling than the catalogue's: this is what a refusal proposes.
"""

import difflib
import re
from collections.abc import Collection, Mapping

# By the catalogue's name; written small and without anything but letters and digits.
ALSO: Mapping[str, str] = {
    "P": "precision prec",
    "R": "recall rec sensitivity",
    "F1": "f fscore f1score fmeasure f1measure",
    "Hit": "hits hr hitrate hitratio success",
    "AP": "map averageprecision avgprecision avgprec meanaverageprecision",
    "RR": "mrr reciprocalrank reciprank meanreciprocalrank",
    "CG": "cumulativegain cumulatedgain",
    "DCG": "discountedcumulativegain discountedcumulatedgain",
    "nDCG": "normalizeddcg normaliseddcg normalizeddiscountedcumulativegain normaliseddiscountedcumulativegain",
    "Rprec": "rprecision",
    "RBP": "rankbiasedprecision",
    "ERR": "expectedreciprocalrank",
    "Bpref": "binarypreference",
    "HLU": "halflifeutility halflife rscore",
    "AUC": "rocauc aucroc gauc areaundercurve",
    "Judged": "judgedshare judgedrate",
    "Spearman": "spearmanr spearmanrho rho",
    "Kendall": "kendalltau tau",
    "FCP": "concordantpairs fractionofconcordantpairs",
    "Coverage": "catalogcoverage cataloguecoverage itemcoverage cov",
    "UserCoverage": "usercov",
    "Novelty": "selfinformation miuf meaninverseuserfrequency epc",
    "ARP": "averagepopularity avgpopularity averagerecommendationpopularity popularity avgpop",
    "LongTail": "longtailshare tailpercentage aplt tail",
    "AWRF": "attentionweightedrankfairness attentionfairness",
    "EED": "expectedexposuredisparity",
    "EER": "expectedexposurerelevance",
    "EEL": "expectedexposureloss expectedexposure",
    "Gini": "giniindex ginicoefficient",
    "Entropy": "shannon shannonentropy",
    "ILD": "intralistdiversity intralistdistance diversity",
    "Serendipity": "unexpectedness surprise",
    "Personalization": "personalisation interlistdiversity",
    "Calibration": "miscalibration",
    "PopCorr": "popularitycorrelation popularityrankcorrelation",
}
NAMES: Mapping[str, str] = {
    spelling: name
    for name, others in ALSO.items()
    for spelling in (name.casefold(), *others.split())
}
_EXAMPLES = {"RBP": "(p=0.8)", "HLU": "(halflife=5)"}
_WITHOUT_CUTOFF = {"Rprec"}
_PARTS = re.compile(r"(?P<name>[^()]*?)(?P<inside>\([^()]*\))?(?P<rest>[^()]*)")
_CUTOFF = re.compile(
    r"(?P<name>[^@]*?)(?:\s*@\s*|[\s_.-]*(?:at|cut|top)?[\s_.-]*)(?P<k>[0-9]{1,9}|k)"
)
_LIKE = 0.75  # of difflib: a slip of the finger, not another word


def metric_meant(name: str) -> str | None:
    """The metric of the catalogue that a name stands for; None where it stands for none."""
    plain = re.sub(r"[\W_]", "", name).casefold()
    near = difflib.get_close_matches(plain, NAMES, n=1, cutoff=_LIKE)
    return NAMES[plain] if plain in NAMES else NAMES[near[0]] if near else None


def label_meant(text: str) -> str | None:
    """The label that a text such as `NDCG_at_10`, `hit_rate@5` or `map` stands for; None where it stands for none."""
    match = _PARTS.fullmatch(text[:100].strip())
    if match is None:
        return None
    name, inside = match["name"] + match["rest"], match["inside"] or ""
    cut = None if _is_spelled(name) else _CUTOFF.fullmatch(name)
    metric = None if cut is None and "@" in name else metric_meant(cut["name"] if cut else name)
    if metric is None:
        return None
    k = cut["k"].strip("k").lstrip("0") if cut and metric not in _WITHOUT_CUTOFF else ""
    return metric + (inside or _EXAMPLES.get(metric, "")) + (f"@{k}" if k else "")


def did_you_mean(text: str, labels: Collection[str]) -> str:
    """A hint that names the label that is meant, or its other cutoffs, or the nearest; else all of them."""
    meant = label_meant(text)
    if meant in labels:
        return f"did you mean {meant!r}?"
    stem = meant.partition("@")[0] if meant else None
    others = sorted((x for x in labels if x.partition("@")[0] == stem), key=lambda x: (len(x), x))
    if others:
        return (
            f"did you mean one of {', '.join(others)}?"
            if len(others) > 1
            else f"did you mean {others[0]!r}?"
        )
    near = difflib.get_close_matches(text, sorted(labels), n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(labels))}"


def _is_spelled(name: str) -> bool:
    """Is it a whole name, though it ends in a digit or in k, as `F1` does?"""
    return re.sub(r"[\W_]", "", name).casefold() in NAMES
