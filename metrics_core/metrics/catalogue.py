"""The catalogue: one row for each metric, in report order."""

from collections.abc import Callable, Mapping
from typing import Any

from concord.metrics_core.metrics import accuracy, agreement, beyond, exposure, fairness
from concord.metrics_core.metrics.metric import Metric, Parameter

INFINITE = float("inf")


def _beyond_accuracy(
    name: str, function: Callable[..., Any], source: str, **properties: Any
) -> Metric:
    return Metric(name, function, source, family="beyond", of_list=True, **properties)


CATALOGUE: tuple[Metric, ...] = (
    Metric(
        "P", accuracy.precision, "van Rijsbergen 1979", aliases="precision prec", expects_ties=True
    ),
    Metric(
        "R",
        accuracy.recall,
        "van Rijsbergen 1979",
        aliases="recall rec sensitivity",
        expects_ties=True,
    ),
    Metric(
        "F1",
        accuracy.f1,
        "van Rijsbergen 1979",
        aliases="f fscore f1score fmeasure f1measure",
        expects_ties=True,
    ),
    Metric(
        "Hit",
        accuracy.hit,
        "Deshpande & Karypis 2004",
        aliases="hits hr hitrate hitratio success",
        expects_ties=True,
    ),
    Metric(
        "AP",
        accuracy.average_precision,
        "Buckley & Voorhees 2000",
        aliases="map averageprecision avgprecision avgprec meanaverageprecision",
        expects_ties=True,
    ),
    Metric(
        "RR",
        accuracy.reciprocal_rank,
        "Kantor & Voorhees 2000",
        aliases="mrr reciprocalrank reciprank meanreciprocalrank",
        expects_ties=True,
        counts_copies=False,
    ),
    Metric(
        "CG",
        accuracy.cumulated_gain,
        "Järvelin & Kekäläinen 2000",
        aliases="cumulativegain cumulatedgain",
        high=INFINITE,
        expects_ties=True,
    ),
    Metric(
        "DCG",
        accuracy.dcg,
        "Järvelin & Kekäläinen 2002",
        aliases="discountedcumulativegain discountedcumulatedgain",
        high=INFINITE,
        expects_ties=True,
    ),
    Metric(
        "nDCG",
        accuracy.ndcg,
        "Järvelin & Kekäläinen 2002",
        aliases="normalizeddcg normaliseddcg normalizeddiscountedcumulativegain normaliseddiscountedcumulativegain",
        expects_ties=True,
    ),
    Metric(
        "Rprec",
        accuracy.r_precision,
        "Buckley & Voorhees 2000",
        aliases="rprecision",
        takes_k=False,
        expects_ties=True,
    ),
    Metric(
        "RBP",
        accuracy.rank_biased_precision,
        "Moffat & Zobel 2008",
        aliases="rankbiasedprecision",
        takes=(Parameter("p", 0.0, 1.0, example=0.8),),
        expects_ties=True,
    ),
    Metric(
        "ERR",
        accuracy.expected_reciprocal_rank,
        "Chapelle et al. 2009",
        aliases="expectedreciprocalrank",
    ),
    Metric(
        "Bpref",
        agreement.bpref,
        "Buckley & Voorhees 2004",
        aliases="binarypreference",
        reads_judged=True,
        counts_copies=False,
    ),
    Metric(
        "HLU",
        agreement.half_life_utility,
        "Breese et al. 1998",
        aliases="halflifeutility halflife rscore",
        takes=(Parameter("halflife", 1.0, INFINITE, example=5),),
        reads_judged=True,
        counts_copies=False,
    ),
    Metric(
        "AUC",
        agreement.auc,
        "Hanley & McNeil 1982",
        aliases="rocauc aucroc gauc areaundercurve",
        reads_judged=True,
        counts_copies=False,
    ),
    Metric(
        "Judged",
        agreement.judged_share,
        "MacAvaney et al. 2022",
        aliases="judgedshare judgedrate",
        reads_judged=True,
        counts_copies=False,
    ),
    Metric(
        "Spearman",
        agreement.spearman,
        "Spearman 1904",
        aliases="spearmanr spearmanrho rho",
        family="agreement",
        low=-1.0,
        reads_judged=True,
        of_list=True,
        counts_copies=False,
    ),
    Metric(
        "Kendall",
        agreement.kendall,
        "Kendall 1945",
        aliases="kendalltau tau",
        family="agreement",
        low=-1.0,
        reads_judged=True,
        of_list=True,
        counts_copies=False,
    ),
    Metric(
        "FCP",
        agreement.concordant_pairs,
        "Koren & Sill 2011",
        aliases="concordantpairs fractionofconcordantpairs",
        family="agreement",
        reads_judged=True,
        of_list=True,
        counts_copies=False,
    ),
    _beyond_accuracy(
        "Coverage",
        exposure.coverage,
        "Ge et al. 2010",
        aliases="catalogcoverage cataloguecoverage itemcoverage cov",
        of_catalogue=True,
        counts_copies=False,
    ),
    _beyond_accuracy(
        "UserCoverage",
        beyond.user_coverage,
        "Shani & Gunawardana 2011",
        aliases="usercov",
    ),
    _beyond_accuracy(
        "Novelty",
        beyond.novelty,
        "Zhou et al. 2010",
        aliases="selfinformation miuf meaninverseuserfrequency epc",
        needs=("train",),
        high=INFINITE,
    ),
    _beyond_accuracy(
        "ARP",
        beyond.average_popularity,
        "Yin et al. 2012",
        aliases="averagepopularity avgpopularity averagerecommendationpopularity popularity avgpop",
        needs=("train",),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "LongTail",
        beyond.long_tail,
        "Abdollahpouri et al. 2017",
        aliases="longtailshare tailpercentage aplt tail",
        needs=("train",),
    ),
    _beyond_accuracy(
        "Gini",
        exposure.gini,
        "Fleder & Hosanagar 2009",
        aliases="giniindex ginicoefficient",
        of_catalogue=True,
        counts_copies=False,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "Entropy",
        exposure.entropy,
        "Shannon 1948",
        aliases="shannon shannonentropy",
        of_catalogue=True,
        high=INFINITE,
        counts_copies=False,
    ),
    _beyond_accuracy(
        "ILD",
        beyond.intra_list_diversity,
        "Ziegler et al. 2005",
        aliases="intralistdiversity intralistdistance diversity",
        needs=("features",),
        high=INFINITE,
    ),
    _beyond_accuracy(
        "Serendipity",
        beyond.serendipity,
        "Murakami et al. 2008",
        aliases="unexpectedness surprise",
        needs=("train",),
        reads_relevant=True,
    ),
    _beyond_accuracy(
        "Personalization",
        exposure.personalization,
        "Zhou et al. 2010",
        aliases="personalisation interlistdiversity",
        of_catalogue=True,
        counts_copies=False,
        needs=("k",),
    ),
    _beyond_accuracy(
        "Calibration",
        beyond.calibration,
        "Steck 2018",
        aliases="miscalibration",
        needs=("train", "features"),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "PopCorr",
        beyond.popularity_correlation,
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
        needs=("groups",),
        reads_relevant=True,
    ),
    _beyond_accuracy(
        "EED",
        fairness.disparity,
        "Diaz et al. 2020",
        aliases="expectedexposuredisparity",
        needs=("groups", "k"),
        reads_relevant=True,
        higher_is_better=False,
    ),
    _beyond_accuracy(
        "EER",
        fairness.relevance,
        "Diaz et al. 2020",
        aliases="expectedexposurerelevance",
        needs=("groups", "k"),
        reads_relevant=True,
    ),
    _beyond_accuracy(
        "EEL",
        fairness.loss,
        "Diaz et al. 2020",
        aliases="expectedexposureloss expectedexposure",
        needs=("groups", "k"),
        reads_relevant=True,
        high=2.0,
        higher_is_better=False,
    ),
)

METRIC: Mapping[str, Metric] = {metric.name: metric for metric in CATALOGUE}
# Lower case, letters and digits only -> name.
SPELLINGS: Mapping[str, str] = {
    spelling: metric.name
    for metric in CATALOGUE
    for spelling in (metric.name.casefold(), *metric.aliases.split())
}
