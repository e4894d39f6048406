"""One comment of a project in a pull or merge request: made once, then written again; and what is said if it is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.posting.job import this_job
from concord.pipeline.posting.place import post
from concord.pipeline.posting.requests import Api, RefusedError
from tests.pipeline.posting.forge import BOT, PERSON, READER, STRANGER, Forge, forge

MARKER = "<!-- concord: evaluation -->"
TEXT = f"{MARKER}\n\nworse"


@pytest.fixture
def server() -> Iterator[Forge]:
    with forge() as kept:
        yield kept


def github(server: Forge, folder: Path, token: str = BOT, **event: object) -> dict[str, str]:
    """The environment of a job that a pull request started, as Actions sets it."""
    request = {"number": 7, "base": {"sha": "a" * 40}, "head": {"sha": "b" * 40}}
    path = folder / "event.json"
    content = event or {"action": "synchronize", "number": 7, "pull_request": request}
    path.write_text(json.dumps(content), encoding="utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": server.address,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_TOKEN": token,
    }


def gitlab(server: Forge, token: str | None = PERSON, **other: str) -> dict[str, str]:
    """The environment of a job in a pipeline of a merge request, as GitLab sets it."""
    own = {} if token is None else {"GITLAB_TOKEN": token}
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": server.address,
        "CI_COMMIT_SHA": "b" * 40,
        "CI_JOB_TOKEN": READER,
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "a" * 40,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_PROJECT_URL": "https://lab.example/shop",
        "CI_PROJECT_ID": "42",
        **own,
        **other,
    }


def _posted(environment: dict[str, str], text: str = TEXT, marker: str = MARKER) -> tuple[bool, str]:  # fmt: skip
    request = this_job(environment).request
    assert request is not None
    assert (request.base, request.head) == ("a" * 40, "b" * 40)
    return post(request.place, marker, text)


def test_a_comment_is_made_once_and_then_written_again(server: Forge, tmp_path: Path) -> None:
    first = _posted(github(server, tmp_path))
    second = _posted(github(server, tmp_path), f"{MARKER}\n\npass")

    assert first == (True, f"commented: {server.address}/shop/models/pull/7#issuecomment-100")
    assert second == (True, f"comment updated: {server.address}/shop/models/pull/7#issuecomment-100")  # fmt: skip
    assert server.texts == [f"{MARKER}\n\npass"]


def test_a_note_of_gitlab_is_made_once_and_then_written_again(server: Forge) -> None:
    first = _posted(gitlab(server))
    second = _posted(gitlab(server), f"{MARKER}\n\npass")

    assert first == (True, "commented: https://lab.example/shop/-/merge_requests/7#note_100")
    assert second[1].startswith("comment updated: ")
    assert server.texts == [f"{MARKER}\n\npass"]


def test_it_is_found_on_a_later_page(server: Forge, tmp_path: Path) -> None:
    for n in range(230):
        server.add(f"comment {n}", "bob")
    server.add(TEXT)
    for n in range(100):
        server.add(f"comment {n}", "bob")
    _posted(github(server, tmp_path), f"{MARKER}\n\npass")

    assert len(server.comments) == 331
    assert server.texts[230] == f"{MARKER}\n\npass"


def test_each_evaluation_of_a_repository_has_its_own(server: Forge, tmp_path: Path) -> None:
    other = "<!-- concord: evaluation2 -->"
    _posted(github(server, tmp_path))
    _posted(github(server, tmp_path), f"{other}\n\npass", other)

    assert server.texts == [TEXT, f"{other}\n\npass"]


def test_what_people_write_is_left_alone(server: Forge, tmp_path: Path) -> None:
    """A job may write over the comment of anybody, who could then change what it says."""
    quoted = f"> {MARKER}\n\nI do not think so."
    server.add(TEXT, "mallory")
    server.add(quoted)
    _posted(github(server, tmp_path), f"{MARKER}\n\npass")
    _posted(gitlab(server), f"{MARKER}\n\nworse")

    assert server.texts == [TEXT, quoted, f"{MARKER}\n\npass", f"{MARKER}\n\nworse"]


def test_the_token_of_a_person_finds_the_comment_of_that_person(
    server: Forge, tmp_path: Path
) -> None:
    server.add(TEXT)
    _posted(github(server, tmp_path, PERSON))
    _posted(github(server, tmp_path, PERSON), f"{MARKER}\n\npass")

    assert server.texts == [TEXT, f"{MARKER}\n\npass"]


@pytest.mark.parametrize(
    ("token", "said"),
    [
        (READER, "403 Forbidden: Resource not accessible by integration"),
        (STRANGER, "401 Unauthorized: Bad credentials"),
        ("", "401 Unauthorized: Bad credentials"),
    ],
)
def test_a_job_without_the_right_says_so(
    server: Forge, tmp_path: Path, token: str, said: str
) -> None:
    done, told = _posted(github(server, tmp_path, token))

    assert not done
    assert told == f"no comment: {said}; the job needs `permissions: pull-requests: write`, which one that a fork started never has"  # fmt: skip
    assert server.texts == []


def test_the_token_of_a_job_of_gitlab_may_not_write(server: Forge) -> None:
    done, told = _posted(gitlab(server, None))

    assert not done
    assert "403 Forbidden" in told
    assert "GITLAB_TOKEN has to hold a token with the scope `api`" in told


def test_a_server_that_does_not_answer_is_told(server: Forge, tmp_path: Path) -> None:
    environment = github(server, tmp_path) | {"GITHUB_API_URL": "http://127.0.0.1:9"}

    assert _posted(environment) == (False, "no comment: no answer that can be read: [Errno 111] Connection refused")  # fmt: skip


@pytest.mark.parametrize("answer", [{"a": 1}, [1], ["x"], 7, "text"])
def test_a_server_of_another_kind_is_told(server: Forge, tmp_path: Path, answer: object) -> None:
    server.answer = answer
    said = "no comment: the server answers what no such server does"

    assert _posted(github(server, tmp_path)) == (False, said)
    assert _posted(gitlab(server)) == (False, said)


def test_the_token_follows_no_redirect(server: Forge, tmp_path: Path) -> None:
    with forge() as other:
        server.elsewhere = other.address
        done, told = _posted(github(server, tmp_path))

        assert not done
        assert "302" in told
        assert other.asked == []


def test_no_message_holds_a_token(server: Forge, tmp_path: Path) -> None:
    for token in (READER, STRANGER):
        assert token not in _posted(github(server, tmp_path, token))[1]
        assert token not in _posted(gitlab(server, token))[1]


@pytest.mark.parametrize("around", ["\n", " ", "\r\n"])
def test_a_token_that_was_stored_with_a_line_break_is_used_without(
    server: Forge, tmp_path: Path, around: str
) -> None:
    assert _posted(github(server, tmp_path, f"{BOT}{around}"))[0]
    assert _posted(gitlab(server, f"{around}{PERSON}{around}"))[0]
    assert {token for _, token in server.asked} == {BOT, PERSON}


@pytest.mark.parametrize("token", ["SECRET\nX-Other: 1", "SECRET\x00", "SECRET\u2026", "“SECRET”"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_quoted(
    server: Forge, tmp_path: Path, token: str
) -> None:
    for environment in (
        github(server, tmp_path, token),
        gitlab(server, token),
        gitlab(server, None, CI_JOB_TOKEN=token),
    ):
        with pytest.raises(InputError, match="TOKEN: holds a character that no token has") as said:
            this_job(environment)
        assert "SECRET" not in str(said.value)


def test_a_header_that_cannot_be_sent_is_not_quoted(server: Forge) -> None:
    with pytest.raises(RefusedError, match="no answer that can be read: ValueError") as said:
        Api(server.address, {"Other": "SECRET\n"}).call("GET", "/user")
    assert "SECRET" not in str(said.value)


def test_a_pipeline_of_the_merged_result_is_held_against_the_target(server: Forge) -> None:
    environment = gitlab(
        server,
        CI_MERGE_REQUEST_TARGET_BRANCH_SHA="c" * 40,
        CI_MERGE_REQUEST_SOURCE_BRANCH_SHA="d" * 40,
    )
    request = this_job(environment).request

    assert request is not None
    assert (request.base, request.head) == ("c" * 40, "d" * 40)


def test_a_push_has_a_summary_and_no_request(server: Forge, tmp_path: Path) -> None:
    job = this_job(github(server, tmp_path, before="a" * 40, after="b" * 40))

    assert job.request is None
    assert job.summary == tmp_path / "summary.md"
    branch = {k: v for k, v in gitlab(server).items() if not k.startswith("CI_MERGE")}
    assert this_job(branch).request is None


def test_a_job_that_no_server_set_up_is_refused_in_words(server: Forge, tmp_path: Path) -> None:
    whole = github(server, tmp_path)
    without = {k: v for k, v in whole.items() if k != "GITHUB_REPOSITORY"}
    with pytest.raises(InputError, match="cannot be read, which lacks GITHUB_REPOSITORY"):
        this_job(without)
    (tmp_path / "event.json").write_text('{"pull_request": ', encoding="utf-8")
    with pytest.raises(InputError, match="the event of this job cannot be read"):
        this_job(whole)
    with pytest.raises(InputError, match="cannot be read, which lacks CI_API_V4_URL"):
        this_job({k: v for k, v in gitlab(server).items() if k != "CI_API_V4_URL"})


def test_elsewhere_nothing_can_be_posted() -> None:
    with pytest.raises(InputError, match="`--post` is for jobs of GitHub Actions and GitLab CI"):
        this_job({"CI": "true"})
