"""The ways to split interactions: what each asks of a model, and what the literature says for and against it.

All of them are declared alike: `data.truth.path` is truth.parquet, `background.train.path` is train.parquet, both with
`columns: {time: time}`.

References
----------
Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
Hidasi & Czapp (2023), RecSys, 848-855.  arXiv:2307.14951
Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
Liang, Krishnan, Hoffman & Jebara (2018), WWW, 689-698.  doi:10.1145/3178876.3186150
Schein, Popescul, Ungar & Pennock (2002), SIGIR, 253-260.  doi:10.1145/564376.564421
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeAlias

TRAIN, TRUTH, HISTORY = "train", "truth", "history"
DUPLICATE, REPEAT, GAP, REPEAT_IN_TRUTH = "duplicate", "repeat", "gap", "repeat_in_truth"
LEFT_OUT = {  # why a row stands on no side
    DUPLICATE: "user, item and time of another row",
    REPEAT: "the user took the item before",
    GAP: "in the gap between train and truth",
    REPEAT_IN_TRUTH: "the user took the item before, within the truth",
}


@dataclass(frozen=True)
class LeaveLastOut:
    """Each user's last interactions are the truth, all earlier ones are train.

    Asks: what does a user take next, who is known so far? Users with no more than `last` interactions have no truth, and
    stay in train whole.

    For: every user counts, and little is taken from train. Against: each user has a time of their own, so train holds
    what others did after it. Models then recommend what did not yet exist, and their order follows how much leaks (Ji et
    al. 2023); it is one of the widespread flaws of Hidasi & Czapp (2023), orders of models differ from those of a global
    split (Meng et al. 2020), and agree less with realistic ones (Gusak et al. 2025).

    last : interactions of each user that are the truth
    """

    how: ClassVar = "leave-last-out"
    last: int = 1


@dataclass(frozen=True)
class GlobalTime:
    """What happened from one moment on is the truth, what happened before it, less a gap, is train.

    Asks: what would this model, trained then, have been worth after? No row of train is as late as a row of truth, so
    nothing leaks through time. Users and items that train lacks stay in the truth: a model that goes live meets them.

    For: where Ji et al. (2023), Hidasi & Czapp (2023) and Gusak et al. (2025) lead. Against: one period stands for all,
    users without an interaction in it are not evaluated, and the truth holds all that a user did in it, which is another
    task than predicting the next item (Gusak et al. 2025).

    at    : the moment, in the unit of the times; None: as `share` says
    share : of the interactions that the truth holds at least, where the moment is to be found
    gap   : between train and truth, in the unit of the times: as long as a model takes to go live
    """

    how: ClassVar = "global-time"
    at: float | None = None
    share: float | None = None
    gap: float = 0.0


@dataclass(frozen=True)
class HeldOutUsers:
    """A share of the users is held out: the last interactions of each are the truth, the earlier ones their history.

    Asks: what is the model worth for users whom it was not trained on, given their history at the time of asking? Known
    as strong generalisation (Liang et al. 2018). A user is held out by a hash of seed and id, so that growing data moves
    nobody to the other side.

    For: the answer of a model that is asked about new users, and tuned without them. Against: only models that take a
    history can be asked, and train holds what happened after the truth (Ji et al. 2023).

    share : the chance of each user, so that about this share of the users is held out
    last  : interactions of each of them that are the truth
    seed  : another one holds other users out
    """

    how: ClassVar = "users"
    share: float
    last: int = 1
    seed: int = 0


@dataclass(frozen=True)
class ColdItems:
    """A share of the items is in the truth only, with all its interactions; train is all else.

    Asks: does the model find items that nobody has taken yet, by what is known of them (Schein et al. 2002)? Items are
    chosen by a hash of seed and id, or the newest are, by their first interaction.

    For: warm items cannot hide that cold ones are never found. Against: chosen by hash, items are as old as any, and
    train holds what happened after the truth (Ji et al. 2023); the newest are what goes live cold. Models that know items
    by id alone cannot be asked.

    share  : by hash the chance of each item, so that it is met nearly; of the newest the share, rounded up
    newest : the items with the latest first interaction, in place of a hash
    seed   : another one chooses other items; None with `newest`
    """

    how: ClassVar = "cold-items"
    share: float
    newest: bool = False
    seed: int | None = 0


Method: TypeAlias = LeaveLastOut | GlobalTime | HeldOutUsers | ColdItems
METHODS = {each.how: each for each in (LeaveLastOut, GlobalTime, HeldOutUsers, ColdItems)}
TAKES = {how: tuple(one.name for one in fields(each)) for how, each in METHODS.items()}
REPEATS = ("keep", "first")


def described(method: Method) -> Mapping[str, Any]:
    """The method and all its parameters."""
    return {"how": method.how, **asdict(method)}
