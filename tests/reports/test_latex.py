"""The LaTeX table: well-formed, with hostile names escaped."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from concord.reports.latex import escaped
from tests.reports.samples import sample
from tests.reports.samples.rendered import latex

SAMPLES = {
    "five": sample.five_models(),
    "one": sample.one_model(),
    "many": sample.many_models(),
    "hostile": sample.hostile_names(),
    "nothing": sample.without_numbers(),
}


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_table_is_well_formed_whatever_the_names(name: str) -> None:
    text = latex(SAMPLES[name])
    plain = re.sub(r"\\[\\{}$&#%_]", "", text)  # what is escaped is no structure

    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert "#" not in plain
    assert plain.splitlines()[0].startswith("%")
    assert not any("%" in line for line in plain.splitlines()[1:])
    columns = {line.count("&") for line in re.sub(r"\\&", "", text).splitlines() if " & " in line}
    assert len(columns) == 1
    commands = set(re.findall(r"\\([a-zA-Z]+)", text))
    assert commands <= {
        "usepackage", "begin", "centering", "caption", "label", "toprule", "midrule", "bottomrule",
        "end", "textbf", "textit", "uparrow", "downarrow", "dagger", "textbackslash",
        "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar", "textquotedbl",
    }  # fmt: skip


def test_every_special_letter_is_text() -> None:
    assert escaped("a_b & 5 % {x} \\input{y} ~^\x00\n") == (
        r"a\_b \& 5 \% \{x\} \textbackslash{}input\{y\} \textasciitilde{}\textasciicircum{} "
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
def test_latex_accepts_every_table(tmp_path: Path) -> None:
    head = (
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\begin{document}\n"
    )
    tables = "\n".join(map(latex, SAMPLES.values()))
    (tmp_path / "t.tex").write_text(f"{head}{tables}\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
