"""Ranking metrics under named conventions: frames or files in, results out.

Eight concepts, in the order in which data flows through them:

- Label: the name of a metric with parameters and cutoff, such as nDCG@10 (`metrics`).
- Conventions: the choices that change a metric's value, and presets of them (`conventions`).
- Dataset: recommendations, ground truth and side data, read, validated and ranked (`data`).
- Evaluation: values per user and summaries of one model (`evaluation`).
- Comparison: several models on the same users (`comparison`, with tests from `stats`).
- Gate: whether a model may replace another (`comparison.gate`).
- Result: what every public function returns (`results`).
- Stage: a step of the pipeline (`concord.pipeline.stages`).

`analyses` has one module per further question. `concord` lists the public names.
"""

import sys

# On the Python Package Index, `concord` is another tool with the same import name.
if not hasattr(_package := sys.modules[__name__.partition(".")[0]], "__all__"):
    _message = (
        f"{_package.__file__} is not of concord-eval: another package has the same import name; "
        "pip uninstall concord, then pip install --force-reinstall --no-deps concord-eval"
    )
    raise ImportError(_message)
