"""Reading what a study is made of: study.yaml, and the comparisons of the projects that it names."""
