"""The sample run of trec_eval, and the means that trec_eval prints for it (test/out.test.a).

python examples/published/trec_eval.py [ADDRESS]

It downloads the run and its judgements, 140 kB, from the repository of trec_eval or from a copy
at ADDRESS, and checks their SHA-256. The published means are in trec_eval.csv.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from download import download

import concord as cc

COMMIT = "f4253652c8efd0d86ddffd0d163cc0a0f813111a"
ADDRESS = f"https://raw.githubusercontent.com/usnistgov/trec_eval/{COMMIT}/test"
RUN, JUDGEMENTS = "results.test", "qrels.test"
SHA256 = {
    RUN: "69019319f6cb9ce861b4ad08d90898170d3d2b27da580fb3cba59e557ff2fd20",
    JUDGEMENTS: "6c44a070a10bfb14b123cadc597227fc63c1acec109bc6d1e5a6bc4763906698",
}
PUBLISHED = Path(__file__).with_suffix(".csv")


def main(address: str = ADDRESS) -> None:
    """Download the files, and print the published means beside those of Concord."""
    with TemporaryDirectory() as folder:
        run, judgements = Path(folder, "sample.run"), Path(folder, "sample.qrels")
        run.write_bytes(download(f"{address}/{RUN}", SHA256[RUN]))
        judgements.write_bytes(download(f"{address}/{JUDGEMENTS}", SHA256[JUDGEMENTS]))
        print(cc.verify({"STANDARD": run}, judgements, PUBLISHED, conventions="pytrec_eval"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
