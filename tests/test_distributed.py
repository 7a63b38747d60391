"""The same counts from a cluster of processes, whatever happens to them."""

import os
import signal
import sys
import threading
import time

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification

from certivote import IncompleteStatisticsError, MajorityVoteClassifier, VoteStatistics, certify
from certivote.distributed import from_dask
from certivote.statistics.cores import available_cores

# The workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process of its own."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def random_losses(m=3000, n=17, seed=0):
    return np.random.default_rng(seed).random((m, n)) < 0.3


def assert_same(statistics, losses):
    local = VoteStatistics.from_losses(losses)
    assert statistics.n_samples == local.n_samples
    assert statistics.tandem.tobytes() == local.tandem.tobytes()
    assert statistics.sha256 == local.sha256


# --- the forms of data ---


@pytest.mark.parametrize(
    ("chunks", "dtype"), [((100, 17), bool), ((3000, 17), np.uint8), ((1024, 5), float)]
)
def test_losses_of_a_dask_array(client, chunks, dtype):
    losses = random_losses().astype(dtype)
    assert_same(from_dask(da.from_array(losses, chunks=chunks), client=client), losses)


def test_votes_and_labels_of_dask_arrays(client):
    rng = np.random.default_rng(1)
    votes, y = rng.integers(3, size=(1000, 6)), rng.integers(3, size=1000)
    losses = votes != y[:, None]
    table = da.from_array(votes, chunks=(130, 4))
    assert_same(from_dask(table, da.from_array(y, chunks=400), client=client), losses)
    # Lengths that are not known beforehand, as after a filter.
    labels = da.from_array(y, chunks=130)
    filtered, kept = table.rechunk((130, 6))[labels != 0], labels[labels != 0]
    assert_same(from_dask(filtered, kept, client=client), losses[y != 0])


def test_votes_of_a_dask_dataframe(client):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.choice(["a", "b"], size=(700, 5)), columns=list("vwxyz"))
    losses = (frame.drop(columns="y").to_numpy() != frame[["y"]].to_numpy()).astype(bool)
    parts = dd.from_pandas(frame, npartitions=4)
    assert_same(from_dask(parts, "y", client=client), losses)
    assert_same(from_dask(parts.drop(columns="y"), parts["y"], client=client), losses)


def test_delayed_partitions_and_futures(client):
    losses = random_losses()
    pieces = np.split(losses, [10, 700, 701, 2500])
    load = dask.delayed(lambda piece: piece)
    assert_same(from_dask([load(piece) for piece in pieces], client=client), losses)
    futures = client.scatter(pieces)
    assert_same(from_dask(futures, client=client), losses)
    ones = [load(np.ones(len(piece), int)) for piece in pieces]
    votes = [load(np.where(piece, 0, 1)) for piece in pieces]
    assert_same(from_dask(votes, ones, client=client), losses)


def test_more_partitions_than_one_task_adds_up(client):
    losses = random_losses(2000, 5)
    assert_same(from_dask(da.from_array(losses, chunks=(60, 5)), client=client), losses)


def test_the_voters_of_a_fitted_vote(client):
    X, y = make_classification(900, 8, n_informative=5, random_state=0)
    names = np.array(["no", "yes"])[y]
    vote = MajorityVoteClassifier("trees", n_voters=12, random_state=0).fit(X[:500], names[:500])
    new, truth = X[500:], names[500:].astype("U9")
    truth[7] = "never seen"  # everybody errs on it
    table = da.from_array(new, chunks=(90, 8))

    def count():
        labels = da.from_array(truth, chunks=90)
        statistics = from_dask(table, labels, voters=vote, client=client)
        time.sleep(0.5)  # warnings of workers come by a way of their own
        return statistics

    with pytest.warns(UserWarning, match="labels that this vote has never seen"):
        statistics = count()
    predicted = np.column_stack([voter.predict(new) for voter in vote.voters_])
    assert_same(statistics, predicted != truth[:, None])


@pytest.fixture(scope="module")
def named():
    """A frame with names and labels, and a vote that was fitted on part of it."""
    X, y = make_classification(900, 4, n_informative=4, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    vote = MajorityVoteClassifier("trees", n_voters=5, random_state=0)
    return frame, vote.fit(frame[list("abcd")][:400], y[:400])


def test_a_vote_on_parquet_files(client, named, tmp_path):
    """Dask reads small files together, and more of them where it reads one column only."""
    frame, vote = named
    for k in range(8):
        frame[400 + 60 * k : 460 + 60 * k].to_parquet(tmp_path / f"{k}.parquet")
    examples = dd.read_parquet(tmp_path)
    statistics = from_dask(examples, "label", voters=vote, client=client)
    new = frame[400:880]
    votes = np.column_stack([voter.predict(new[list("abcd")].to_numpy()) for voter in vote.voters_])
    assert_same(statistics, votes != new[["label"]].to_numpy())


@pytest.mark.parametrize(("old", "new"), [(400, 0), (100, 500)])
def test_rows_that_the_vote_was_fitted_on_are_refused(client, named, old, new):
    frame, vote = named
    rows = pd.concat([frame[:old], frame[400 : 400 + new]])
    with pytest.raises(ValueError, match="in the data that this vote was fitted on") as local:
        vote.certify(rows[list("abcd")], rows["label"])
    with pytest.raises(ValueError, match="in the data that this vote was fitted on") as info:
        from_dask(dd.from_pandas(rows, npartitions=5, sort=False), "label", voters=vote)
    assert str(info.value) == str(local.value)


def test_what_is_kept_says_that_the_vote_was_fitted_on_it(client, named):
    frame, vote = named
    parts = [dask.delayed(frame[list("abcd")][:200]), dask.delayed(None)]
    labels = [dask.delayed(frame["label"][:200])] * 2
    with (
        pytest.warns(UserWarning, match="100.0% of these examples"),
        pytest.raises(IncompleteStatisticsError, match="partition 1 cannot be counted") as info,
    ):
        from_dask(parts, labels, voters=vote, client=client)
    (found,) = info.value.statistics.findings
    assert found.startswith("100.0% of these examples were in the data that this vote was fitted")


def test_few_rows_that_the_vote_was_fitted_on_are_a_finding(client, named):
    frame, vote = named
    rows = frame[390:890]
    table = dd.from_pandas(rows, npartitions=5, sort=False)
    with pytest.warns(UserWarning, match="2.0% of these examples were in the data"):
        statistics = from_dask(table, "label", voters=vote, fixed_votes=[vote.weights_])
    with pytest.warns(UserWarning, match="2.0% of these examples were in the data"):
        local = vote.certify(rows[list("abcd")], rows["label"])
    certificate = certify(statistics, weights=vote.weights_, prior=vote.weights_, bound="heldout")
    assert certificate.findings == local.findings
    assert certificate.risk_bound == local.risk_bound


@pytest.mark.parametrize("columns", [list("dcba"), list("abc"), ["a", "b", "c", "id"]])
def test_other_features_than_those_of_the_vote_are_refused(client, named, columns):
    frame, vote = named
    renamed = frame.assign(id=frame["d"])[[*columns, "label"]]
    with pytest.raises(ValueError, match=r"[Ff]eature"):
        from_dask(dd.from_pandas(renamed, npartitions=2), "label", voters=vote, client=client)
    delayed = [dask.delayed(renamed[columns])]
    with pytest.raises(IncompleteStatisticsError, match=r"[Ff]eature"):
        from_dask(delayed, [dask.delayed(frame["label"])], voters=vote, client=client)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(np.nan, "NaN"), ("yes", "must hold labels of one kind")],
)
def test_labels_that_are_missing_or_of_another_kind_are_refused(client, named, wrong, message):
    frame, vote = named[0][400:], named[1]
    labels = frame["label"].astype(float) if wrong is np.nan else frame["label"].astype(str)
    labels[500] = wrong
    parts = dd.from_pandas(frame.assign(label=labels), npartitions=3)
    with pytest.raises(IncompleteStatisticsError, match=message):
        from_dask(parts, "label", voters=vote, client=client)


def test_voters_as_a_function(client):
    X = np.random.default_rng(3).normal(size=(500, 3))
    y = X[:, 0] > 0.1
    thresholds = np.linspace(-1, 1, 9)
    table, labels = da.from_array(X, chunks=(60, 3)), da.from_array(y, chunks=60)
    statistics = from_dask(table, labels, voters=lambda X: X[:, :1] > thresholds, client=client)
    assert_same(statistics, (X[:, :1] > thresholds) != y[:, None])


def test_votes_fixed_before_the_sample(client):
    X, y = make_classification(800, 8, n_informative=5, random_state=0)
    vote = MajorityVoteClassifier("trees", n_voters=12, bound="lacasse", random_state=0)
    vote.fit(X[:300], y[:300])
    table, labels = da.from_array(X[300:], chunks=(90, 8)), da.from_array(y[300:], chunks=90)
    statistics = from_dask(table, labels, voters=vote, fixed_votes=[vote.weights_], client=client)
    wrong = np.count_nonzero(vote.predict(X[300:]) != y[300:])
    assert statistics.vote_errors(vote.weights_) == wrong


def test_many_voters_have_no_table_on_a_cluster_either(client):
    losses = random_losses(200, 5000)
    first, second = (
        from_dask(da.from_array(losses, chunks=(rows, 5000)), client=client) for rows in (30, 70)
    )
    assert "counts" not in vars(first.pairs)
    assert first.sha256 == VoteStatistics.from_losses(losses).sha256
    assert first.pairs.bits.tobytes() == second.pairs.bits.tobytes()
    np.testing.assert_array_equal(first.errors, losses.sum(axis=0))


def test_the_current_client_is_found_and_progress_is_shown(client, capsys):
    losses = random_losses(100, 3)
    assert_same(from_dask(da.from_array(losses, chunks=(10, 3)), verbose=1), losses)
    line = next(line for line in capsys.readouterr().err.splitlines() if "counting" in line)
    assert "100%" in line
    assert "partitions/s" in line


# --- what moves ---


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


@pytest.mark.parametrize("n_partitions", [6, 24])
def test_only_a_table_per_worker_moves(client, n_partitions):
    n = 600
    losses = da.random.random((2400, n), chunks=(2400 // n_partitions, n)) < 0.3
    before = sum(client.run(sent).values())
    from_dask(losses, client=client)
    moved = sum(client.run(sent).values()) - before
    # One table from worker to worker, one to the client, notes of a few bytes, and perhaps a
    # partition that Dask gave to an idle worker: each is a twelfth of a table, or less.
    assert 8 * n**2 < moved < 1.2 * 2 * 8 * n**2


class Voters:
    """Voters that tell how often they were unpacked in a process."""

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        import builtins

        builtins.unpacked = getattr(builtins, "unpacked", 0) + 1

    def __call__(self, X):
        return X > 0


def count_unpacked():
    import builtins

    return getattr(builtins, "unpacked", 0)


@pytest.fixture
def keeping(client):
    """The cluster without Dask's memory manager.

    Every two seconds it takes what many workers have from those that are idle; one that then gets
    a task of another is sent it again, and rightly so.
    """
    client.amm.stop()
    yield client
    client.amm.start()


def test_voters_are_sent_once(keeping):
    X = da.random.normal(size=(400, 6), chunks=(40, 6))
    before = keeping.run(count_unpacked)
    from_dask(X, X[:, 0] > 0, voters=Voters(), client=keeping)
    after = keeping.run(count_unpacked)
    assert all(after[worker] - before[worker] <= 1 for worker in after)
    assert sum(after.values()) > sum(before.values())


def test_no_copies_of_voters_are_made_before_they_are_needed(client, monkeypatch):
    """The memory manager would remove them, and they would be sent again."""
    holders = []
    scatter = client.scatter

    def watched(*args, **options):
        future = scatter(*args, **options)
        holders.append(len(client.who_has([future])[future.key]))
        return future

    monkeypatch.setattr(client, "scatter", watched)
    X = da.ones((40, 2), chunks=(10, 2))
    from_dask(X, X[:, 0], voters=Voters(), client=client)
    assert holders == [1]


def test_a_task_counts_on_one_core(client):
    def cores(X):
        return np.full((len(X), 3), available_cores())

    X, ones = da.ones((20, 2), chunks=(10, 2)), da.ones(20, chunks=10)
    statistics = from_dask(X, ones, voters=cores, client=client)
    assert statistics.errors.tolist() == [0, 0, 0]


# --- accidents ---


def test_a_partition_that_raises_is_named_and_the_others_are_kept(client):
    losses = random_losses(800, 4)

    def load(k):
        if k in (3, 6):
            raise OSError(f"shard {k} is gone")
        return losses[100 * k : 100 * k + 100]

    parts = [dask.delayed(load)(k) for k in range(8)]
    message = r"partition 3 cannot be counted \(nor can 6\): OSError: shard 3 is gone"
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        from_dask(parts, client=client)
    assert info.value.chunk == 3
    assert info.value.chunks == (3, 6)
    assert "600 examples are counted" in str(info.value)
    kept = np.delete(losses.reshape(8, 100, 4), (3, 6), axis=0).reshape(-1, 4)
    assert_same(info.value.statistics, kept)


def test_a_note_whose_worker_has_died_is_waited_for_again(client, tmp_path):
    """One worker ends in the middle, once, after it has told of partitions."""
    losses = random_losses(3000, 5)

    def load(k):
        flag = tmp_path / "died"
        if k == 30 and not flag.exists():
            flag.touch()
            os._exit(9)
        return losses[50 * k : 50 * k + 50]

    assert_same(from_dask([dask.delayed(load)(k) for k in range(60)], client=client), losses)
    client.wait_for_workers(2)


def test_a_partition_with_other_voters_is_named(client):
    losses = random_losses(300, 4)
    parts = [losses[:100], losses[100:200, :3], losses[200:]]
    message = "partition 1 cannot be counted: it must have 4 voters like partition 0, got 3"
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        from_dask([dask.delayed(part) for part in parts], client=client)
    assert_same(info.value.statistics, np.delete(losses, range(100, 200), axis=0))


def test_a_partition_whose_voters_are_in_another_order_is_named(client):
    names = ["good", "b", "c", "d"]
    table = pd.DataFrame(random_losses(1000, 4).astype(int), columns=names)
    parts = [part for _, part in table.groupby(np.arange(1000) // 50)]
    others = [
        part[["b", "good", "c", "d"]] if k in (3, 5) else part for k, part in enumerate(parts)
    ]
    message = (
        r"partition 3 cannot be counted \(nor can 5\): it must name the same voters in the same"
    )
    with pytest.raises(IncompleteStatisticsError, match=message) as info:
        from_dask([dask.delayed(part) for part in others], client=client)
    kept = np.delete(table.to_numpy().reshape(20, 50, 4), (3, 5), axis=0).reshape(-1, 4)
    assert_same(info.value.statistics, kept)
    whole = from_dask([dask.delayed(part) for part in parts], client=client)
    assert_same(whole, table.to_numpy())
    assert whole.voters == tuple(names)


def test_nothing_is_kept_if_every_partition_raises(client):
    with pytest.raises(IncompleteStatisticsError, match=r"partition 0 .* must be 0 or 1") as info:
        from_dask(da.full((10, 3), 7, chunks=(5, 3)), client=client)
    assert info.value.statistics is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((da.ones(5),), ValueError, "data must have 2 dimensions"),
        (([],), ValueError, "data must have at least one partition"),
        ((np.ones((5, 2)),), TypeError, "data must be a Dask array or dataframe"),
        ((da.ones((5, 2)), "y"), ValueError, "y must be a column of data"),
        ((da.ones((4, 2)), [1, 2]), ValueError, "y must be cut like data, got 2 and 1"),
    ],
)
def test_bad_arguments_are_refused(client, arguments, error, message):
    with pytest.raises(error, match=message):
        from_dask(*arguments, client=client)


def test_bad_voters_are_refused(client):
    with pytest.raises(ValueError, match="y must be given with voters or fixed_votes"):
        from_dask(da.ones((4, 2)), voters=len, client=client)
    with pytest.raises(TypeError, match="voters must be a fitted vote or a function"):
        from_dask(da.ones((4, 2)), da.ones(4), voters=3, client=client)


@pytest.fixture
def alone():
    """One worker, which has the voters and everything else."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_voters_that_were_lost_are_sent_again(alone):
    (pid,) = alone.run(os.getpid).values()
    losses = random_losses(40, 3, seed=5)

    def vote(X):
        os.kill(pid, signal.SIGKILL) if os.getpid() == pid else None
        return losses[X[:, 0]]

    rows, zeros = da.arange(40, chunks=10)[:, None], da.zeros(40, chunks=10, dtype=bool)
    assert_same(from_dask(rows, zeros, voters=vote, client=alone), losses)
    assert pid not in alone.run(os.getpid).values()


def test_a_cluster_that_loses_the_voters_each_time_says_so(alone):
    def vote(X):
        os.kill(os.getpid(), signal.SIGKILL)

    X = da.ones((40, 2), chunks=(10, 2))
    with pytest.raises(RuntimeError, match="every worker that had the voters or the data is gone"):
        from_dask(X, X[:, 0], voters=vote, client=alone)


@pytest.mark.parametrize("when", [1, 10])
def test_a_worker_that_is_killed_changes_nothing(client, tmp_path, when):
    """SIGKILL after some partitions: they are computed again, and counted once."""
    client.wait_for_workers(2, timeout=60)
    losses = random_losses(16 * 50, 30, seed=4)

    def vote(rows):
        """Write down who voted, and not too fast."""
        time.sleep(0.1)
        with open(tmp_path / "log", "a") as log:
            log.write(f"{os.getpid()} {int(rows[0, 0])}\n")
        return losses[rows[:, 0]]

    victims = []

    def kill():
        while True:
            time.sleep(0.01)
            log = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
            if len(log) >= when:
                victims.append(int(log[0].split()[0]))
                os.kill(victims[0], signal.SIGKILL)
                return

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    rows = da.arange(len(losses), chunks=50)[:, None]
    zeros = da.zeros(len(losses), chunks=50, dtype=bool)
    statistics = from_dask(rows, zeros, voters=vote, client=client)
    killer.join(timeout=30)
    assert not killer.is_alive()
    assert_same(statistics, losses)
    voted = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert len({start for _, start in voted}) == 16
    assert len({pid for pid, _ in voted}) >= 2
    if when > 1:
        # What the dead worker had counted was lost: some partitions were computed twice.
        assert len(voted) > 16
