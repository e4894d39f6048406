"""pyNTCIREVAL: one topic at a time; a topic needs a list and a relevant document.

Its gain values are 2^grade - 1, so that ERR and nERR are those of Chapelle et al. 2009.
"""

from adapter import Refusal, Value, run
from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import AP, ERR, RR, Hit, OMeasure, Precision, QMeasure, nDCG, nERR

GAINS = [1, 3, 7, 15]  # of the grades 1 to 4


def measure(case):
    """Yield every metric at every cutoff."""
    topics = {u: grades for u, grades in case.truth.items() if max(grades.values(), default=0) >= 1}
    values = {}
    for user, grades in topics.items():
        if not case.lists.get(user):
            continue
        labeler = Labeler({item: int(grade) for item, grade in grades.items()})
        listed = labeler.label(case.items_of(user))
        for label, metric in metrics(labeler.compute_per_level_doc_num(5), case.ks):
            values.setdefault(label, {})[user] = metric.compute(listed)
    for label, users in values.items():
        yield Value("ntcireval", label, users, sum(users.values()) / len(users))
    if not values:
        yield Refusal("ntcireval", "all", "no topic has a list and a relevant document")


def metrics(n_judged, ks):
    """Yield each label and the library's metric; `n_judged` is the number of items of each grade."""
    yield "AP", AP(n_judged, GAINS)
    yield "RR", RR()
    yield "ERR", ERR(n_judged, GAINS)
    yield "Q(beta=1)", QMeasure(n_judged, GAINS, 1.0)
    for beta in (1, 10):
        yield f"O(beta={beta})", OMeasure(n_judged, GAINS, float(beta))
    for k in ks:
        yield f"P@{k}", Precision(k)
        yield f"Hit@{k}", Hit(k)
        yield f"AP@{k}", AP(n_judged, GAINS, k)
        yield f"nDCG@{k}", nDCG(n_judged, GAINS, 2.0, k)
        yield f"nERR@{k}", nERR(n_judged, GAINS, k)
        for beta in (1, 10):
            yield f"Q(beta={beta})@{k}", QMeasure(n_judged, GAINS, float(beta), k)


if __name__ == "__main__":
    run(measure)
