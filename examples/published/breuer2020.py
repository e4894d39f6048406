"""Table 1 of the appendix of Breuer et al. (SIGIR 2020): a TREC run and 20 replications of it.

python examples/published/breuer2020.py [ADDRESS]

It downloads the values of each topic, 103 kB, from the repository of the paper or from a copy at
ADDRESS, and checks their SHA-256. breuer2020.csv holds the printed means and p-values; its run
names are those of the downloaded tables. The repository states no licence, so no table of it is
stored here.
"""

import sys
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from io import BytesIO
from pathlib import Path

import polars as pl
from download import download
from scipy.stats import t as student

import concord as cc
from concord.results import Comparison

COMMIT = "8a44294f6b4e00acf4ad3182782c7e185035b5cc"
ADDRESS = (
    "https://raw.githubusercontent.com/irgroup/sigir2020-measure-reproducibility/"
    f"{COMMIT}/evaluation/matlab/results/measures"
)
FILES = {
    "P@10": "rpl_wcrobust0405_p10.csv",
    "AP": "rpl_wcrobust0405_ap.csv",
    "nDCG": "rpl_wcrobust0405_ndcg1000.csv",
}
SHA256 = {
    "P@10": "19a3969df8afa744ca856e7608e2407606407e5f26ccefc2a9b3a17013e25288",
    "AP": "8267ca60b29ad217c8ecd7b830590930775837a4974008647fd73e8981f62a70",
    "nDCG": "81426c980b42af6872191a2ee1d45aad63f49805b166edeadd5410af744af791",
}
ORIGINAL = "WCrobust0405"
PUBLISHED = Path(__file__).with_suffix(".csv")


def main(address: str = ADDRESS) -> None:
    """Print how many printed numbers agree, and the p-values that Concord computes differently."""
    tables = {
        metric: pl.read_csv(BytesIO(download(f"{address}/{name}", SHA256[metric])))
        for metric, name in FILES.items()
    }
    printed = pl.read_csv(PUBLISHED, schema_overrides={"mean": pl.String, "p": pl.String})
    comparison = compare(tables, printed["run"].unique(maintain_order=True).to_list())
    n_means = n_p_values = 0
    by_sign_flips = []
    for run, metric, mean, p in printed.iter_rows():
        n_means += f"{tables[metric][run].mean():.4f}" == mean
        if run == ORIGINAL:
            continue
        pair = comparison.difference(run, ORIGINAL, metric)
        assert pair is not None
        t_test = 2 * student.sf(abs(pair.difference / pair.standard_error), pair.n_users - 1)
        is_t_test = pair.test == "t"
        n_p_values += truncate(pair.p if is_t_test else t_test, like=p) == Decimal(p)
        if not is_t_test:
            numbers = f"{pair.n_nonzero:<8}{p:<9}{t_test:<9.2g}{pair.p:.2g}"
            by_sign_flips.append(f"{run:<22}{metric:<8}{numbers}")
    n_printed = printed["p"].count()
    print(f"{n_means} of {len(printed)} printed means agree")
    print(f"{n_p_values} of {n_printed} printed p-values are those of the t-test, cut off")
    print(f"{len(by_sign_flips)} are tested by sign flips here:")
    print(f"{'run':<22}{'metric':<8}{'differ':<8}{'printed':<9}{'t-test':<9}Concord")
    print(*by_sign_flips, sep="\n")


def compare(tables: Mapping[str, pl.DataFrame], runs: Sequence[str]) -> Comparison:
    """Return the comparison of the replications with the original run."""
    values = {
        run: {
            metric: dict(zip(table["Row"].to_list(), table[run].to_list(), strict=True))
            for metric, table in tables.items()
        }
        for run in runs
    }
    return cc.compare_values(
        values,
        baseline=ORIGINAL,
        primary=["AP"],
        bounds=dict.fromkeys(tables, (0, 1)),
        words={"user": "topic"},
    )


def truncate(value: float, *, like: str) -> Decimal:
    """Return the value with the digits of a printed number, the others cut off."""
    return Decimal(float(value)).quantize(Decimal(like), rounding=ROUND_DOWN)


if __name__ == "__main__":
    main(*sys.argv[1:2])
