"""What a library does that no knob expresses: where, and why. Each is shown by the case that is named."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Residue:
    """`cases` and `labels` are regular expressions over whole names."""

    preset: str
    cases: str
    labels: str
    why: str

    def covers(self, preset: str, case: str, label: str) -> bool:
        """Does it excuse a difference of this preset, case and label?"""
        here = preset == self.preset and re.fullmatch(self.cases, case)
        return bool(here and re.fullmatch(self.labels, label))


RESIDUE: tuple[Residue, ...] = (
    Residue(
        "pytrec_eval",
        "bellei",
        r".*",
        "a user whose truth is {} is left out, while one whose judged items all have grade 0 counts 0",
    ),
    Residue(
        "ir_measures",
        "bellei",
        r"(RR|ERR)@.*|RBP.*",
        "a user whose truth is {} is left out of these, and counts 0 for the others",
    ),
    Residue(
        "ir_measures_exp",
        "bellei",
        r"nDCG@.*",
        "a user whose truth is {} is left out",
    ),
    Residue(
        "ranx",
        ".*",
        "Bpref",
        "NaN, and the mean with it, as soon as nobody judged an item not relevant",
    ),
    Residue(
        "rectools",
        "duplicates",
        r"(R|F1|AP)@.*",
        "each copy that hits also counts as one more relevant item",
    ),
    Residue(
        "rectools_achievable",
        "duplicates",
        r"nDCG@.*",
        "each copy that hits also counts as one more relevant item",
    ),
    Residue(
        "rectools_r_precision",
        "duplicates",
        r"P@.*",
        "each copy that hits also counts as one more relevant item",
    ),
    *(
        Residue(
            f"ms_recommenders{variant}",
            "duplicates",
            r"nDCG@.*",
            "hits are merged with the list again: an item that stands twice counts four times",
        )
        for variant in ("", "_raw", "_exp")
    ),
    *(
        Residue(
            f"ms_recommenders{variant}",
            "corners(_integers)?",
            r"nDCG@.*",
            "who has no list and grades of 0 only is 0/0 and skipped, while who has no list and a gain to find counts 0",
        )
        for variant in ("_raw", "_exp")
    ),
    *(
        Residue(
            f"recpack{variant}",
            "ties.*",
            r".*",
            "argpartition leaves equal scores in no fixed order",
        )
        for variant in ("", "_calibrated")
    ),
    Residue(
        "cornac",
        "bellei|missing|random50|corners(_integers)?",
        "P",
        "without a cutoff precision divides by the length of the list: NaN for a user without one",
    ),
    Residue(
        "evidently",
        "whole",
        r"F1@1",
        "NaN where mean precision and mean recall are both 0",
    ),
    Residue(
        "torchmetrics",
        "(near_)?ties.*",
        r"(P|R|Hit|AP|RR)(@.*)?|Rprec",
        "equal scores in no fixed order: ones(5).topk(5) gives 2, 4, 3, 0, 1, and compute() sorts users unstably",
    ),
    Residue(
        "torchmetrics",
        "duplicates",
        r"R(@.*)?|nDCG(@5|@10)?|Rprec",
        "each copy is a relevant row of its own: targets [1, 1, 0], both 1s one item, give R@1 = 0.5",
    ),
    Residue(
        "mlflow_retriever",
        "duplicates",
        r"nDCG@10",
        "copies become further relevant items of the ideal: [a, a, b] on {a, c} gives 0.765",
    ),
    Residue(
        "evidently",
        "duplicates",
        r"(R|F1|AP)@.*|nDCG@(5|10)",
        "each copy is a relevant row of its own",
    ),
    Residue(
        "evidently",
        "random50|short|corners(_integers)?",
        r"AP@.*",
        "the last row's relevance is repeated beyond the list's end: [hit] and [hit, miss] give MAP@2 = 1.5",
    ),
    Residue(
        "recbole",
        "(near_)?ties.*",
        r".*",
        "torch.topk leaves equal scores in no fixed order",
    ),
    Residue(
        "ignite",
        "(near_)?ties.*",
        r"Hit@.*",
        "topk leaves equal scores in no fixed order: five equal scores, the first relevant, Hit@1 = 0 and nDCG@1 = 1",
    ),
)


def excused(preset: str, case: str, label: str) -> bool:
    """Is a difference here known?"""
    return any(residue.covers(preset, case, label) for residue in RESIDUE)
