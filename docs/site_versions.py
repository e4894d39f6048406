"""Build the published site: `dev/` is the checkout, `stable/` the newest release.

python -m docs.site_versions FOLDER

An address outside both, such as docs/faq.html, leads to the page of `stable/`. Before the first
release, `stable/` leads to `dev/`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.version import VERSION_PATTERN, Version

from docs.notebooks import ROOT, URLS

DEV, STABLE = "dev", "stable"
_RELEASE = re.compile(VERSION_PATTERN, re.VERBOSE | re.IGNORECASE)
_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>Concord</title>
<link rel="canonical" href="{address}">
<script>location.replace("{address}" + location.search + location.hash)</script>
<meta http-equiv="refresh" content="0; url={address}">
<a href="{address}">Concord</a>
"""


def build(root: Path, folder: Path) -> None:
    """Build the site of a checkout and of its newest release into a folder."""
    tags = _output("git", "tag", "--list", "v*", cwd=root).split()
    release = newest_release(tags)
    _make_site(root, folder / DEV)
    if release:
        with TemporaryDirectory() as temporary:
            checkout = Path(temporary) / release
            _output("git", "worktree", "add", "--detach", str(checkout), release, cwd=root)
            _make_site(checkout, folder / STABLE)
            _output("git", "worktree", "remove", "--force", str(checkout), cwd=root)
    assemble(folder, release)


def _make_site(checkout: Path, folder: Path) -> None:
    environment = {**os.environ, "CONCORD_SITE_VERSION": folder.name}
    command = ["make", "site", f"SITE={folder}"]
    subprocess.run(command, cwd=checkout, env=environment, check=True)


def _output(*command: str, cwd: Path) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout


def newest_release(tags: Iterable[str]) -> str | None:
    """Return the tag of the newest version that is no pre-release."""
    versions = {tag: Version(tag) for tag in tags if _RELEASE.fullmatch(tag)}
    releases = [tag for tag, version in versions.items() if not version.is_prerelease]
    return max(releases, key=versions.__getitem__, default=None)


def assemble(folder: Path, release: str | None) -> None:
    """Add what leads to the versions in a folder: redirects, schemas and the list of versions.

    Parameters
    ----------
    folder : holds `dev/`, and `stable/` if there is a release
    release : tag of `stable/`
    """
    preferred = STABLE if release else DEV
    if not release:
        _redirect(folder / DEV, folder / STABLE)
    _redirect(folder / preferred, folder)
    if (folder / DEV / "schemas").is_dir():
        shutil.copytree(folder / DEV / "schemas", folder / "schemas")
    pages = (folder / preferred / "llms.txt").read_text(encoding="utf-8")
    (folder / "llms.txt").write_text(pages.replace("](docs/", f"]({preferred}/docs/"))
    names = {STABLE: release, DEV: DEV} if release else {DEV: DEV}
    switcher = [
        {
            "name": name,
            "version": version,
            "url": f"{URLS['Documentation']}{version}/",
            "preferred": version == preferred,
        }
        for version, name in names.items()
    ]
    (folder / "switcher.json").write_text(json.dumps(switcher, indent=1))


def _redirect(target: Path, source: Path) -> None:
    """Write below `source` a page for each page of `target`, which leads there."""
    for page in [*target.rglob("*.html")]:
        place = source / page.relative_to(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        address = Path(os.path.relpath(page, place.parent)).as_posix()
        place.write_text(_REDIRECT.format(address=address), encoding="utf-8")


if __name__ == "__main__":
    build(ROOT, Path(sys.argv[1]).resolve())
