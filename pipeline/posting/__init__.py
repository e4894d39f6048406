"""Where comments stand: the pull requests of GitHub and the merge requests of GitLab."""
