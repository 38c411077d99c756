"""A sweep on a local Dask cluster, with a worker killed in the middle."""

import os
import signal

import numpy as np
import pytest
import signorini as sg

from test_many import SCENE

distributed = pytest.importorskip("distributed")


@pytest.mark.skipif(os.name != "posix", reason="a worker is killed by a signal")
def test_a_killed_worker_loses_nothing(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(SCENE.replace("dt = 1e-3", "dt = 2e-6"))
    path, log = str(scene), str(tmp_path / "log")

    def build(speed):
        # Called only where a run is computed: every line is a run that began.
        with open(log, "a") as file:
            file.write(f"{speed} {os.getpid()}\n")
        return sg.load(path, set={"speed": speed})

    speeds = [float(x) for x in np.linspace(0.0, 2.0, 12)]
    arrived, killed = [], []
    # Small steps of a ball take some seconds altogether; workers are processes, each with one thread.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path / "dask"),
    ) as cluster, distributed.Client(cluster) as client:

        def on_row(row):
            arrived.append(row["params"]["speed"])
            if len(arrived) == 3:
                with open(log) as file:
                    killed.append(int(file.read().split()[-1]))
                os.kill(killed[0], signal.SIGKILL)

        rows = sg.sweep(
            build, {"speed": speeds}, measure=["body.ball.position"], client=client, out=tmp_path / "out", checkpoint=0.05,
            on_row=on_row,
        )
    # Nothing is lost.
    assert killed and [row["params"]["speed"] for row in rows] == speeds and not rows.failed, rows.failed
    np.testing.assert_allclose(rows.column("body.ball.position")[:, 0], 0.05 * np.array(speeds), atol=1e-9)
    # Nothing is computed twice but the run that was killed; it goes on from its checkpoint, to the same number of steps.
    with open(log) as file:
        begun = [line.split() for line in file]
    twice = {speed for speed, _ in begun if sum(s == speed for s, _ in begun) > 1}
    assert len(begun) <= len(speeds) + 1 and len(twice) <= 1
    assert {row["steps"] for row in rows} == {25000}
    # The same bits as alone, and nothing left to do.
    alone = sg.sweep(path, samples=[{"speed": speeds[5]}])
    assert alone[0]["hash"] == rows[5]["hash"]
    again = sg.sweep(build, {"speed": speeds}, measure=["body.ball.position"], out=tmp_path / "out", checkpoint=0.05)
    assert again.rows == rows.rows
    with open(log) as file:
        assert len(file.readlines()) == len(begun)
