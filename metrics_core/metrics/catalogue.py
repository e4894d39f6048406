"""Catalogue of the metrics, one row each, in the order of the report."""

import re
from collections.abc import Mapping
from functools import partial

from concord.metrics_core.metrics import (
    accuracy,
    agreement,
    beyond_accuracy,
    blended_ratio,
    exposure,
    fairness,
    graded_accuracy,
    pooled,
    subtopics,
)
from concord.metrics_core.metrics.metric import Metric, Parameter

INFINITE = float("inf")
_ALPHA = Parameter("alpha", 0.0, 1.0, example=0.5, default=0.5)
_BETA = Parameter("beta", 0.0, 1.0, example=0.5, default=0.5)


def normalise(name: str) -> str:
    """Return a name in lower case, letters and digits only."""
    return re.sub(r"[\W_]", "", name).casefold()


# Metrics that have an expected value under `ties: average`.
_averaging_ties = partial(Metric, averages_ties=True)
_of_judged_items = partial(Metric, reads_judged=True, counts_copies=False)
_of_agreement = partial(
    _of_judged_items, steps=agreement.agreement_steps, family="agreement", describes_list=True
)
_of_subtopics = partial(
    Metric, steps=subtopics.subtopic_steps, reads_subtopics=True, counts_copies=False
)
_beyond_accuracy = partial(Metric, family="beyond", describes_list=True)
_of_all_lists = partial(_beyond_accuracy, is_aggregate=True, counts_copies=False)
_of_exposure = partial(
    _beyond_accuracy,
    steps=fairness.exposure_steps,
    needs=("groups", "k"),
    reads_relevant=True,
)

CATALOGUE: tuple[Metric, ...] = (
    _averaging_ties(
        "P",
        accuracy.precision,
        "van Rijsbergen 1979",
        aliases="precision prec setp",
        steps=accuracy.precision_steps,
    ),
    _averaging_ties(
        "R",
        accuracy.recall,
        "van Rijsbergen 1979",
        aliases="recall rec sensitivity setr setrecall",
        steps=accuracy.recall_steps,
    ),
    _averaging_ties(
        "F1",
        accuracy.f1,
        "van Rijsbergen 1979",
        aliases="f1score f1measure fscore fmeasure setf",
        steps=accuracy.f1_steps,
    ),
    _averaging_ties(
        "Hit",
        accuracy.hit,
        "Deshpande & Karypis 2004",
        aliases="hr hitrate hitratio success",
        steps=accuracy.hit_steps,
    ),
    _averaging_ties(
        "AP",
        accuracy.average_precision,
        "Buckley & Voorhees 2000",
        aliases="map averageprecision avgprecision avgprec meanaverageprecision",
        steps=accuracy.average_precision_steps,
    ),
    _averaging_ties(
        "RR",
        accuracy.reciprocal_rank,
        "Kantor & Voorhees 2000",
        aliases="mrr reciprocalrank reciprank meanreciprocalrank",
        steps=accuracy.reciprocal_rank_steps,
        counts_copies=False,
    ),
    _averaging_ties(
        "CG",
        graded_accuracy.cumulated_gain,
        "Järvelin & Kekäläinen 2000",
        aliases="cumulativegain cumulatedgain",
        steps=graded_accuracy.cumulated_gain_steps,
        high=INFINITE,
    ),
    _averaging_ties(
        "DCG",
        graded_accuracy.dcg,
        "Järvelin & Kekäläinen 2002",
        aliases="discountedcumulativegain discountedcumulatedgain",
        steps=graded_accuracy.dcg_steps,
        high=INFINITE,
    ),
    _averaging_ties(
        "nDCG",
        graded_accuracy.ndcg,
        "Järvelin & Kekäläinen 2002",
        aliases="normalizeddcg normaliseddcg normalizeddiscountedcumulativegain "
        "normaliseddiscountedcumulativegain",
        steps=graded_accuracy.ndcg_steps,
    ),
    _averaging_ties(
        "Rprec",
        accuracy.r_precision,
        "Buckley & Voorhees 2000",
        aliases="rprecision",
        steps=accuracy.r_precision_steps,
        takes_k=False,
    ),
    _averaging_ties(
        "RBP",
        graded_accuracy.rank_biased_precision,
        "Moffat & Zobel 2008",
        aliases="rankbiasedprecision",
        steps=graded_accuracy.rank_biased_precision_steps,
        parameters=(Parameter("p", 0.0, 1.0, example=0.8),),
    ),
    Metric(
        "ERR",
        graded_accuracy.expected_reciprocal_rank,
        "Chapelle et al. 2009",
        aliases="expectedreciprocalrank",
        steps=graded_accuracy.expected_reciprocal_rank_steps,
    ),
    Metric(
        "nERR",
        graded_accuracy.normalised_err,
        "Sakai & Song 2011",
        aliases="normalisederr normalizederr",
        steps=graded_accuracy.normalised_err_steps,
    ),
    Metric(
        "Q",
        blended_ratio.q_measure,
        "Sakai 2004",
        aliases="qmeasure",
        steps=blended_ratio.q_measure_steps,
        parameters=(Parameter("beta", 0.0, INFINITE, example=1),),
    ),
    Metric(
        "O",
        blended_ratio.o_measure,
        "Sakai 2006",
        aliases="omeasure",
        steps=blended_ratio.o_measure_steps,
        parameters=(Parameter("beta", 0.0, INFINITE, example=1),),
        counts_copies=False,
    ),
    _of_judged_items(
        "Bpref",
        agreement.bpref,
        "Buckley & Voorhees 2004",
        aliases="binarypreference",
        steps=agreement.bpref_steps,
    ),
    _of_judged_items(
        "infAP",
        pooled.inferred_ap,
        "Yilmaz & Aslam 2006",
        aliases="inferredap inferredaverageprecision",
        steps=pooled.inferred_ap_steps,
        takes_k=False,
        reads_pooled=True,
    ),
    _of_judged_items(
        "HLU",
        agreement.half_life_utility,
        "Breese et al. 1998",
        aliases="halflifeutility halflife rscore",
        steps=agreement.half_life_utility_steps,
        parameters=(Parameter("halflife", 1.0, INFINITE, example=5),),
    ),
    _of_judged_items(
        "AUC",
        agreement.auc,
        "Hanley & McNeil 1982",
        aliases="rocauc aucroc",
        steps=agreement.auc_steps,
    ),
    _of_judged_items(
        "Judged",
        agreement.judged_share,
        "MacAvaney et al. 2022",
        aliases="judgedshare judgedrate",
        steps=agreement.judged_share_steps,
    ),
    _of_subtopics(
        "StRecall",
        subtopics.subtopic_recall,
        "Zhai et al. 2003",
        aliases="subtopicrecall strec srecall irecall",
    ),
    _of_subtopics(
        "alpha_DCG",
        subtopics.alpha_dcg,
        "Clarke et al. 2008",
        parameters=(_ALPHA,),
    ),
    _of_subtopics(
        "alpha_nDCG",
        subtopics.alpha_ndcg,
        "Clarke et al. 2008",
        high=subtopics.BEST_OVER_GREEDY,
        parameters=(_ALPHA,),
    ),
    _of_subtopics("ERR_IA", subtopics.err_ia, "Chapelle et al. 2011"),
    _of_subtopics(
        "nERR_IA",
        subtopics.normalised_err_ia,
        "Chapelle et al. 2011",
        high=subtopics.BEST_OVER_GREEDY,
    ),
    _of_subtopics(
        "NRBP",
        subtopics.nrbp,
        "Clarke et al. 2009",
        parameters=(_ALPHA, _BETA),
        takes_k=False,
    ),
    _of_subtopics(
        "nNRBP",
        subtopics.normalised_nrbp,
        "Clarke et al. 2009",
        high=subtopics.BEST_OVER_GREEDY,
        parameters=(_ALPHA, _BETA),
        takes_k=False,
    ),
    _of_agreement(
        "Spearman",
        agreement.spearman,
        "Spearman 1904",
        aliases="spearmanr spearmanrho",
        low=-1.0,
    ),
    _of_agreement(
        "Kendall",
        agreement.kendall,
        "Kendall 1945",
        aliases="kendalltau",
        low=-1.0,
    ),
    _of_agreement(
        "FCP",
        agreement.concordant_pairs,
        "Koren & Sill 2011",
        aliases="fractionofconcordantpairs",
    ),
    _of_all_lists(
        "Coverage",
        exposure.coverage,
        "Ge et al. 2010",
        aliases="catalogcoverage cataloguecoverage itemcoverage",
    ),
    _beyond_accuracy(
        "UserCoverage",
        beyond_accuracy.user_coverage,
        "Shani & Gunawardana 2011",
    ),
    _beyond_accuracy(
        "Novelty",
        beyond_accuracy.novelty,
        "Zhou et al. 2010",
        aliases="selfinformation miuf meaninverseuserfrequency meaninvuserfreq",
        needs=("train",),
        high=INFINITE,
    ),
    _beyond_accuracy(
        "ARP",
        beyond_accuracy.average_popularity,
        "Yin et al. 2012",
        aliases="averagepopularity averagerecommendationpopularity avgrecpopularity",
        needs=("train",),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "LongTail",
        beyond_accuracy.long_tail,
        "Abdollahpouri et al. 2017",
        aliases="longtailshare tailpercentage aplt",
        needs=("train",),
    ),
    _of_all_lists(
        "Gini",
        exposure.gini,
        "Fleder & Hosanagar 2009",
        aliases="giniindex ginicoefficient",
        higher_is_better=False,
    ),
    _of_all_lists(
        "Entropy",
        exposure.entropy,
        "Shannon 1948",
        aliases="shannon shannonentropy",
        high=INFINITE,
    ),
    _beyond_accuracy(
        "ILD",
        beyond_accuracy.intra_list_diversity,
        "Ziegler et al. 2005",
        aliases="intralistdiversity intralistdistance",
        needs=("features",),
        high=INFINITE,
    ),
    _beyond_accuracy(
        "Serendipity",
        beyond_accuracy.serendipity,
        "Murakami et al. 2008",
        needs=("train",),
        reads_relevant=True,
    ),
    _of_all_lists(
        "Personalization",
        exposure.personalization,
        "Zhou et al. 2010",
        aliases="personalisation interlistdiversity",
        needs=("k",),
    ),
    _beyond_accuracy(
        "Calibration",
        beyond_accuracy.calibration,
        "Steck 2018",
        aliases="miscalibration",
        needs=("train", "features"),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "PopCorr",
        beyond_accuracy.popularity_correlation,
        "Zhu et al. 2021",
        aliases="popularitycorrelation popularityrankcorrelation",
        needs=("train",),
        low=-1.0,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "AWRF",
        fairness.attention_fairness,
        "Sapiezynski et al. 2019",
        aliases="attentionweightedrankfairness attentionfairness",
        steps=fairness.attention_steps,
        needs=("groups",),
        reads_relevant=True,
    ),
    _of_exposure(
        "EED",
        fairness.disparity,
        "Diaz et al. 2020",
        aliases="expectedexposuredisparity",
        higher_is_better=False,
    ),
    _of_exposure(
        "EER",
        fairness.relevance,
        "Diaz et al. 2020",
        aliases="expectedexposurerelevance",
    ),
    _of_exposure(
        "EEL",
        fairness.loss,
        "Diaz et al. 2020",
        aliases="expectedexposureloss",
        high=2.0,
        higher_is_better=False,
    ),
)

METRIC: Mapping[str, Metric] = {metric.name: metric for metric in CATALOGUE}
# Accepted names, in lower case, letters and digits only: the metric that each names.
SPELLINGS: Mapping[str, str] = {
    spelling: metric.name
    for metric in CATALOGUE
    for spelling in (normalise(metric.name), *metric.aliases.split())
}
# Names of trec_eval and ir_measures for metrics of the whole list: they take no cutoff.
SET_MEASURES = frozenset({"setp", "setr", "setrecall", "setf"})
# Names that other tools and papers use in another sense, or in several: the metrics that may be
# meant. They are refused with these as a hint; without one if the catalogue has no such metric, as
# their names resemble others.
AMBIGUOUS_NAMES: Mapping[str, tuple[str, ...]] = {
    "acc": ("Hit", "P"),
    "accuracy": ("Hit", "P"),
    "areaundercurve": ("AUC",),
    "concordantpairs": ("FCP",),
    "cov": ("Coverage", "UserCoverage"),
    "iprec": (),
    "setrelp": (),
    "diversity": ("ILD", "Personalization", "Entropy"),
    **dict.fromkeys(("nerr8", "nerr9", "nerr10", "nerr11", "setap", "setmap"), ()),
    "epc": ("Novelty",),
    "expectedexposure": ("EED", "EER", "EEL"),
    "f": ("F1",),
    "gauc": ("AUC",),
    "hits": ("Hit",),
    "popularity": ("ARP", "PopCorr"),
    "rho": ("Spearman",),
    "surprise": ("Serendipity", "Novelty"),
    "tail": ("LongTail",),
    "tau": ("Kendall",),
    "unexpectedness": ("Serendipity",),
}


def find_metric(name: str) -> Metric | None:
    """Return the metric that a name of the field means, such as `MAP` or `hit_rate`, or None."""
    return METRIC.get(name) or METRIC.get(SPELLINGS.get(normalise(name), ""))
