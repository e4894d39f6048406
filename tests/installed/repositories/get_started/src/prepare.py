import csv
import pathlib
import sys

import dvc.api

source, folder = sys.argv[1], pathlib.Path(sys.argv[2])
split = dvc.api.params_show()["prepare"]["split"]
folder.mkdir(parents=True, exist_ok=True)
with open(source, newline="") as file:
    rows = list(csv.DictReader(file))
for name, keep in (("train", lambda t: t < split), ("test", lambda t: t >= split)):
    with (folder / f"{name}.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(row for row in rows if keep(int(row["timestamp"])))
