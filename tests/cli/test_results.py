"""The files of a run: written where one asks, whole, and never taken for those of another."""

import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import certivote.cli.certify
from certivote.cli.output import check_folder, write_folder
from options import trees

NAMES = ("model.joblib", "model.skops", "report.html", "certificate.json")
FEW = (*trees(2), "--quiet")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def folder(numbers, tmp_path):
    """A folder with a table."""
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    return tmp_path


# --- where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "out", [".", "results", "results/", "./a/../results", "x" * 255, "é" * 127]
)
def test_folders_that_can_be_written(out, invoke, folder):
    (folder / "a").mkdir()
    invoke("certify", "numbers.csv", *FEW, "--out", out, cwd=folder)
    results = folder / out
    assert {"numbers.csv", "a"} | {path.name for path in results.iterdir()} >= {*NAMES}
    invoke("predict", results / "model.joblib", "numbers.csv", "--quiet", cwd=folder)
    everything = ("--model", results / "model.joblib", "--data", "numbers.csv")
    invoke("verify", results / "certificate.json", *everything, cwd=folder)
    assert not [name for name in listing(folder) if ".certivote" in name]


def test_a_link_to_a_folder(invoke, folder):
    (folder / "far").mkdir()
    (folder / "near").symlink_to("far")
    invoke("certify", "numbers.csv", *FEW, "--out", "near", cwd=folder)
    assert {path.name for path in (folder / "far").iterdir()} == {*NAMES}


def test_nothing_is_written_beside_the_folder(monkeypatch, folder):
    # Beside a mount point is another file system, or a folder that is not ours.
    rooms = []
    make = tempfile.mkdtemp

    def watch(**options):
        rooms.append(options["dir"])
        return make(**options)

    monkeypatch.setattr(tempfile, "mkdtemp", watch)
    (folder / "mount").mkdir()
    write_folder(folder / "mount", {"a": lambda path: path.write_text("A")})
    assert rooms == [folder / "mount"]


def test_predictions_go_to_a_file_of_any_name(invoke, certified, tmp_path):
    name = "x" * 251 + ".csv"
    invoke("predict", certified.model_path, certified.data, "--out", name, "-q", cwd=tmp_path)
    assert os.listdir(tmp_path) == [name]


# --- before the work -----------------------------------------------------------------------------


@pytest.fixture
def refused(invoke, folder, monkeypatch):
    """Run a command that must fail before it trains, and leave no trace."""

    def train(*arguments):
        raise AssertionError("this must not be reached")

    monkeypatch.setattr(certivote.cli.certify, "_fit", train)

    def refused(*arguments):
        before = listing(folder)
        done = invoke("certify", "numbers.csv", "--quiet", *arguments, cwd=folder, status=2)
        assert listing(folder) == before
        (line,) = done.stderr.splitlines()
        return line

    return refused


def test_what_stands_in_the_way_is_named_before_training(refused, folder):
    (folder / "file").write_text("")
    (folder / "results" / "report.html").mkdir(parents=True)
    (folder / "nowhere").symlink_to("missing")
    assert refused("--out", "file") == "error: file is a file: name another folder with --out."
    assert "file is not a folder" in refused("--out", "file/results")
    assert "missing is not a folder" in refused("--out", "missing/results")
    assert "results/report.html is a folder: move it away" in refused("--out", "results")
    assert "cannot be written (File name too long)" in refused("--out", "x" * 256)
    assert "nowhere cannot be written" in refused("--out", "nowhere")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc")
@pytest.mark.parametrize("out", ["/proc", "/proc/results"])
def test_a_place_where_nobody_can_write_is_refused_before_training(out, refused):
    assert f"error: {out} cannot be written (" in refused("--out", out)


def test_a_folder_without_permission_is_refused_before_training(refused, folder, monkeypatch):
    def deny(**options):
        raise PermissionError(errno.EACCES, "Permission denied", str(options["dir"]))

    monkeypatch.setattr(tempfile, "mkdtemp", deny)
    words = "cannot be written (Permission denied): name another folder with --out."
    assert refused("--out", "new") == f"error: new {words}"
    (folder / "old").mkdir()
    assert refused("--out", "old") == f"error: old {words}"


def test_a_name_of_data_that_is_too_long_for_a_folder(invoke, folder):
    name = "n" * 245 + ".csv"
    (folder / "numbers.csv").rename(folder / name)
    done = invoke("certify", name, *FEW, cwd=folder, status=2)
    assert "cannot be written (File name too long): name another folder with --out" in done.stderr
    assert os.listdir(folder) == [name]


def test_compare_checks_its_folder_too(invoke, folder):
    done = invoke("compare", "numbers.csv", *FEW, "--out", "no/where", cwd=folder, status=2)
    assert done.stderr == "error: no is not a folder: make it first, or change --out.\n"


def test_a_check_leaves_what_is_there(tmp_path):
    check_folder(tmp_path / "new", NAMES)
    assert listing(tmp_path) == []
    (tmp_path / "old").mkdir()
    check_folder(tmp_path / "old", NAMES)
    assert listing(tmp_path) == ["old"]


# --- of one run ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_runs(invoke, numbers, tmp_path_factory):
    """The results of two runs on one table, in the folders a and b. Look, do not touch."""
    folder = tmp_path_factory.mktemp("two")
    numbers.to_csv(folder / "numbers.csv", index=False)
    for seed, name in enumerate("ab"):
        invoke("certify", "numbers.csv", *FEW, "--seed", seed, "--out", name, cwd=folder)
    return folder


@pytest.fixture
def mixed(two_runs, tmp_path):
    """Copy the files of a, but some of b."""

    def mix(*of_b):
        shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)
        for name in of_b:
            shutil.copyfile(tmp_path / "b" / name, tmp_path / "a" / name)
        return tmp_path

    return mix


def test_a_certificate_has_the_digests_of_the_others(two_runs):
    for name in "ab":
        folder = two_runs / name
        fields = json.loads((folder / "certificate.json").read_text())
        assert fields["files"] == {name: digest(folder / name) for name in NAMES[:3]}
        page = (folder / "report.html").read_text(encoding="utf-8")
        assert fields["files"]["model.joblib"] not in page


@pytest.mark.parametrize("name", NAMES)
def test_files_of_two_runs_are_refused(name, mixed, invoke):
    folder = mixed(name)
    done = invoke("predict", "a/model.joblib", "numbers.csv", "--quiet", cwd=folder, status=2)
    assert done.stdout == ""
    wrong = "a/model.joblib" if name == "certificate.json" else f"a/{name}"
    assert f"{wrong} is not the file that was written with a/certificate.json" in done.stderr
    everything = ("--model", "a/model.joblib", "--data", "numbers.csv")
    done = invoke("verify", "a/certificate.json", *everything, cwd=folder, status=1)
    assert f"{wrong} is not the file that was written with a/certificate.json" in done.stderr
    assert "run certify again" in done.stderr
    done = invoke("verify", "a/certificate.json", cwd=folder, status=1)
    assert f"{wrong} is not the file that was written with a/certificate.json" in done.stderr


@pytest.mark.parametrize("name", NAMES[:3])
def test_a_file_without_a_digest_is_not_checked_and_that_is_said(name, mixed, invoke):
    folder = mixed()
    path = folder / "a" / "certificate.json"
    fields = json.loads(path.read_text())
    del fields["files"][name]
    path.write_text(json.dumps(fields))
    everything = ("--model", "a/model.joblib", "--data", "numbers.csv")
    for options in ((), everything):
        done = invoke("verify", "a/certificate.json", *options, cwd=folder)
        line = f"not checked: that a/{name} was written with it: there is no digest"
        assert line in done.stdout.splitlines()


@pytest.mark.parametrize("out", ["numbers.csv", "link", *(f"a/{name}" for name in NAMES)])
def test_predictions_replace_nothing_that_they_are_made_from(out, mixed, invoke):
    folder = mixed()
    (folder / "link").symlink_to("numbers.csv")
    before = (folder / out).read_bytes()
    done = invoke("predict", "a/model.joblib", "numbers.csv", "--out", out, cwd=folder, status=2)
    assert "would be lost: name another file with --out" in done.stderr
    assert (folder / out).read_bytes() == before


def test_predictions_go_into_a_pipe_and_through_a_link(mixed, invoke):
    folder = mixed()
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    (folder / "labels.csv").write_text("old")
    (folder / "link").symlink_to("labels.csv")
    for out in ("pipe", "link"):
        invoke("predict", "a/model.joblib", "numbers.csv", "-q", "--out", out, cwd=folder)
    assert os.read(reader, 2**20) == (folder / "labels.csv").read_bytes()
    os.close(reader)
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)
    assert (folder / "link").is_symlink()


def test_a_model_without_its_certificate_is_told(mixed, invoke):
    folder = mixed()
    (folder / "a" / "certificate.json").unlink()
    done = invoke("predict", "a/model.joblib", "numbers.csv", cwd=folder)
    assert "no certificate.json lies beside a/model.joblib: nothing is claimed" in done.stderr


def test_no_other_files_are_looked_at(mixed, invoke):
    folder = mixed()
    (folder / "secret").write_text("")
    path = folder / "a" / "certificate.json"
    fields = json.loads(path.read_text())
    fields["files"] |= {"../secret": "0" * 64, "notes.txt": "0" * 64, "": "0" * 64}
    path.write_text(json.dumps(fields))
    done = invoke("predict", "a/model.joblib", "numbers.csv", "--quiet", cwd=folder)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1 + len(pd.read_csv(folder / "numbers.csv"))


def test_a_strange_model_is_refused_before_it_is_loaded(mixed, invoke):
    import pickle

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(folder / "sprung"),))

    folder = mixed()
    (folder / "a" / "model.joblib").write_bytes(pickle.dumps(Trap()))
    invoke("predict", "a/model.joblib", "numbers.csv", cwd=folder, status=2)
    everything = ("--model", "a/model.joblib", "--data", "numbers.csv")
    invoke("verify", "a/certificate.json", *everything, cwd=folder, status=1)
    assert not (folder / "sprung").exists()


def test_a_model_alone_or_by_another_name_is_fine(mixed, invoke):
    folder = mixed()
    whole = invoke("predict", "a/model.joblib", "numbers.csv", "--quiet", cwd=folder).stdout
    (folder / "a" / "model.joblib").rename(folder / "model.joblib")
    (folder / "b" / "model.joblib").rename(folder / "a" / "other.joblib")
    assert invoke("predict", "model.joblib", "numbers.csv", "-q", cwd=folder).stdout == whole
    invoke("predict", "a/other.joblib", "numbers.csv", "-q", cwd=folder)
    # Wherever the model of a certificate lies now, it is known again.
    everything = ("--model", "model.joblib", "--data", "numbers.csv")
    invoke("verify", "a/certificate.json", *everything, cwd=folder)


def test_what_is_no_certificate_beside_a_model_is_named(mixed, invoke):
    folder = mixed()
    (folder / "a" / "certificate.json").write_text("{")
    done = invoke("predict", "a/model.joblib", "numbers.csv", "-q", cwd=folder, status=2)
    assert "a/certificate.json, beside the model, is no certificate: " in done.stderr
    assert "move it away to predict without one" in done.stderr


def like(numbers):
    """Rows that are new to the votes."""
    noise = np.random.default_rng(2).normal(0, 0.1, (len(numbers), 5))
    return numbers.assign(**{name: numbers[name] + noise[:, j] for j, name in enumerate("abcde")})


def test_a_vote_that_was_fitted_before_is_copied_with_its_digest(mixed, numbers, invoke):
    folder = mixed()
    like(numbers).to_csv(folder / "new.csv", index=False)
    shutil.copyfile(folder / "b" / "model.joblib", folder / "vote.joblib")
    arguments = ("--model", "vote.joblib", "--out", "a", "--quiet")
    invoke("certify", "new.csv", *arguments, cwd=folder)
    fields = json.loads((folder / "a" / "certificate.json").read_text())
    assert fields["files"]["model.joblib"] == digest(folder / "vote.joblib")
    everything = ("--model", "vote.joblib", "--data", "new.csv")
    invoke("verify", "a/certificate.json", *everything, cwd=folder)
    # Over itself, too.
    arguments = ("--model", "a/model.joblib", "--out", "a", "--quiet")
    invoke("certify", "new.csv", *arguments, cwd=folder)
    assert digest(folder / "a" / "model.joblib") == digest(folder / "vote.joblib")


def test_a_vote_that_changes_while_it_is_certified_is_refused(mixed, numbers, invoke, monkeypatch):
    folder = mixed()
    like(numbers).to_csv(folder / "new.csv", index=False)
    load = joblib.load

    def load_and_change(path):
        vote = load(path)
        shutil.copyfile(folder / "b" / "model.joblib", folder / "vote.joblib")
        return vote

    monkeypatch.setattr(joblib, "load", load_and_change)
    shutil.copyfile(folder / "a" / "model.joblib", folder / "vote.joblib")
    arguments = ("--model", "vote.joblib", "--out", "new", "--quiet")
    done = invoke("certify", "new.csv", *arguments, cwd=folder, status=2)
    assert "vote.joblib has changed since it was loaded" in done.stderr
    assert not (folder / "new").exists()


# --- accidents -----------------------------------------------------------------------------------

# Certify again and again over older results, each time in a process of its own, which dies at the
# next step among those that move or remove files; print how many steps there are. A first run
# loads what all of them need.
KILL = """
import itertools, os, shutil, sys
from typer.testing import CliRunner
from certivote.cli.app import app

FEW = ["--voters", "trees", "--n-voters", "2"]

def die_at(step):
    for name in ("replace", "rename", "unlink", "rmdir", "mkdir"):
        def dying(*arguments, real=getattr(os, name), **options):
            nonlocal step
            step -= 1
            if step < 0:
                os._exit(9)
            return real(*arguments, **options)
        setattr(os, name, dying)

CliRunner().invoke(app, ["certify", "numbers.csv", *FEW, "-q", "--out", "first"])
for step in itertools.count():
    shutil.copytree("a", f"killed-{step}")
    child = os.fork()
    if not child:
        die_at(step)
        arguments = ["certify", "numbers.csv", *FEW, "--seed", "1", "--quiet"]
        os._exit(CliRunner().invoke(app, [*arguments, "--out", f"killed-{step}"]).exit_code)
    if not os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        print(step)
        break
"""


def run_script(script, folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def certified_whole(folder):
    """Whether a folder holds a certificate with all the files that it was written with."""
    if not (folder / "certificate.json").exists():
        return False
    files = json.loads((folder / "certificate.json").read_text())["files"]
    assert set(files) == {*NAMES[:3]}
    return all((folder / name).exists() and digest(folder / name) == files[name] for name in files)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_kill_at_any_step_leaves_one_run_or_no_certificate(mixed, invoke):
    folder = mixed()
    steps = int(run_script(KILL, folder))
    assert steps >= 8  # three go, four are moved, and the room is removed
    claims, whole = set(), []
    old = {name: digest(folder / "a" / name) for name in NAMES}
    for step in range(steps + 1):
        killed = folder / f"killed-{step}"
        found = {path.name: digest(path) for path in killed.iterdir() if path.is_file()}
        whole.append(certified_whole(killed))
        if whole[-1]:
            claims.add(json.loads((killed / "certificate.json").read_text())["claim"])
            everything = ("--model", killed / "model.joblib", "--data", "numbers.csv")
            invoke("verify", killed / "certificate.json", *everything, cwd=folder)
        else:
            assert set(found) <= {*NAMES[:3]}
        # Neither a page nor the same model in another form is beside the model of another run.
        assert len({found[name] == old[name] for name in NAMES[:3] if name in found}) == 1
        invoke("predict", killed / "model.joblib", "numbers.csv", "--quiet", cwd=folder)
    assert whole[0]
    assert whole[-1]
    assert not all(whole)
    assert len(claims) == 2
    # The next run mends all.
    half = folder / f"killed-{whole.index(False)}"
    invoke("certify", "numbers.csv", *FEW, "--out", half, cwd=folder)
    assert certified_whole(half)


# Two processes certify into one folder. They meet before they touch what is there, and go on in
# steps of random length.
RACE = """
import fcntl, os, random, sys, time
from typer.testing import CliRunner
from certivote.cli.app import app

FEW = ["--voters", "trees", "--n-voters", "2"]

def go_slowly(number, seed):
    waits = random.Random(f"{number} {seed}")

    def meet(*arguments, real=fcntl.flock):
        open(f"here-{number}-{seed}", "w").close()
        # The other one comes, or has failed and said so.
        while not {f"here-{number}-{1 - seed}", f"said-{number}-{1 - seed}"} & {*os.listdir()}:
            time.sleep(0.001)
        real(*arguments)

    fcntl.flock = meet
    for name in ("unlink", "replace"):
        def slow(*arguments, real=getattr(os, name), **options):
            time.sleep(waits.random() * 0.02)
            real(*arguments, **options)
        setattr(os, name, slow)

CliRunner().invoke(app, ["certify", "numbers.csv", *FEW, "-q", "--out", "first"])
for number in range(int(sys.argv[1])):
    children = []
    for seed in (0, 1):
        child = os.fork()
        if not child:
            go_slowly(number, seed)
            arguments = ["certify", "numbers.csv", *FEW, "--seed", str(seed), "-q"]
            done = CliRunner().invoke(app, [*arguments, "--out", f"race-{number}"])
            with open(f"said-{number}-{seed}", "w") as file:
                file.write(done.stderr)
            os._exit(done.exit_code)
        children.append(child)
    print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_a_folder_that_another_process_removes_again_is_no_file(tmp_path, monkeypatch):
    """It is there when it is looked for, and not at the next look."""
    folder = tmp_path / "results"
    looks = []

    def look(path, *, real=os.stat, **options):
        if Path(path) == folder:
            looks.append(path)
            if len(looks) == 1:
                return real(tmp_path, **options)
        return real(path, **options)

    monkeypatch.setattr(os, "stat", look)
    check_folder(folder, ["certificate.json"])
    assert looks
    monkeypatch.undo()
    folder.write_text("")
    with pytest.raises(ValueError, match="is a file: name another folder"):
        check_folder(folder, ["certificate.json"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_of_two_writers_at_once_one_is_left(folder, invoke):
    races = 8
    statuses = [line.split() for line in run_script(RACE, folder, races).splitlines()]
    assert len(statuses) == races
    for number, status in enumerate(statuses):
        results = folder / f"race-{number}"
        said = [(folder / f"said-{number}-{seed}").read_text() for seed in (0, 1)]
        # One waits for the other to have moved its files: the last one's result is there, whole.
        assert status == ["0", "0"]
        assert said == ["", ""]
        assert certified_whole(results)
        invoke("predict", results / "model.joblib", "numbers.csv", "--quiet", cwd=folder)
        assert not [name for name in os.listdir(results) if name not in NAMES]
