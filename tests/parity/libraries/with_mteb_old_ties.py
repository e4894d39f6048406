"""mteb before 2.18.19, whose `mrr_at_10` orders equal scores as the run has them."""

from functools import partial

from adapter import run
from with_mteb import measure

if __name__ == "__main__":
    run(partial(measure, preset="mteb_old_ties"))
