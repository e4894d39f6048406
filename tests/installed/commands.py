"""Run commands of Concord one after the other: their exit codes, stdout and stderr, as JSON."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from concord.pipeline.commands.cli import main

done = []
for arguments in json.loads(sys.argv[1]):
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        patch("concord.pipeline.running.stage.end_process", sys.exit),
    ):
        try:
            main(arguments)
            code: object = 0
        except SystemExit as end:
            code = end.code
    done.append((code or 0, stdout.getvalue(), stderr.getvalue()))
print(json.dumps(done))
