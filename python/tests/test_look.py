"""What can be looked at: records, pictures, the page, comparisons, tables."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
import signorini as sg

from test_simulation import crate


def recorded(mu):
    sim = crate(mu=mu, velocity=[1, 0, 0]).simulate(dt=1e-3)
    sim.record(every=5)
    sim.run(0.3)
    return sim


def test_a_record_in_memory_holds_the_run():
    sim = recorded(0.4)
    record = sim.recorded
    assert isinstance(record, sg.Record) and record.name == "crate" and record.bodies == sim.bodies
    # A frame every five steps, and the first one.
    assert len(record.times) == 61 and record.times[-1] == pytest.approx(0.3)
    assert record.poses.shape == (61, 2, 7)
    # Frames are stored to a small part of a micrometre.
    np.testing.assert_allclose(record.poses[-1, 1, :3], sim.poses[1, :3], atol=1e-6)
    steps = record.steps
    assert len(steps["time"]) == 300 and set(steps["solver"]) <= set(sg.SOLVERS) | {"warm-start", "free"}
    assert steps["friction"][-1] == pytest.approx(sim.energy["friction"], rel=1e-5)
    assert record.summary is not None and record.summary["steps"] == 300
    # It goes on, and ends.
    sim.run(0.31)
    assert len(sim.recorded.times) == 63
    assert len(sim.finish_recording().times) == 63 and sim.recorded is None


def test_pictures_of_any_moment(tmp_path):
    sim = recorded(0.4)
    early = sim.picture(tmp_path / "early.png", t=0.0, size=(160, 100))
    late = sim.picture(t=0.3, size=(160, 100))
    assert early.startswith(b"\x89PNG") and early != late and (tmp_path / "early.png").read_bytes() == early
    assert "image/png" in early._repr_mimebundle_()
    gif = sim.recorded.animation(size=(64, 48), fps=10)
    assert gif.startswith(b"GIF8") and "image/gif" in gif._repr_mimebundle_()
    with pytest.raises(sg.InputError, match="wants a record"):
        crate().simulate().picture(t=1.0)
    with pytest.raises(sg.InputError, match="pixels"):
        sim.picture(size=(1, 1))


def test_the_page_needs_no_network_and_stands_in_a_frame(tmp_path):
    sim = recorded(0.4)
    record = sim.recorded
    page = record.page()
    # No resource from elsewhere: links in licence texts do not count.
    assert not re.search(r'(src|href)\s*=\s*["\']https?:', page.html)
    assert "<title>crate · Signorini</title>" in page.html
    inline = page._repr_html_()
    assert inline.startswith("<iframe") and "srcdoc=" in inline and page.html not in inline
    record.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page.html
    sim.recorded.save(tmp_path / "a.glb")
    assert (tmp_path / "a.glb").read_bytes().startswith(b"glTF")
    with pytest.raises(sg.InputError, match="wanted a file"):
        sim.recorded.save(tmp_path / "a.mp4")
    # Without a record: the present moment.
    still = crate().simulate()
    assert "<title>crate" in still.page().html and still.recorded is None
    assert "data:image/png;base64," in still._repr_html_()
    assert "<svg" in sim.recorded.plot("energy")


def test_a_folder_is_that_of_the_command_line(tmp_path):
    sim = crate(velocity=[1, 0, 0]).simulate(dt=1e-3)
    with sim.recording(tmp_path / "run"):
        sim.run(0.1)
    assert {"record.bin", "run.json", "bodies.csv", "contacts.csv"} <= {p.name for p in (tmp_path / "run").iterdir()}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["steps"] == 100
    assert len(sg.Record(tmp_path / "run").times) > 5
    command = [sys.executable, "-m", "signorini", "export", str(tmp_path / "run"), "-o", str(tmp_path / "run.html")]
    assert subprocess.run(command, capture_output=True).returncode == 0
    with pytest.raises(sg.RecordError, match="record.bin"):
        sg.Record(tmp_path)


def test_two_runs_compared():
    a, b = recorded(0.4), recorded(0.8)
    same = sg.compare(a, recorded(0.4).recorded)
    assert same.worst[2] == 0.0 and same.first_beyond(1e-9) is None
    found = sg.compare(a, b)
    # v²/(2 g) (1/0.4 − 1/0.8); a step of 1 ms at 1 m/s is 1 mm.
    assert found.worst[0] == "crate" and found.worst[2] == pytest.approx((1 / 0.4 - 1 / 0.8) / (2 * 9.81), abs=1e-3)
    body, time = found.first_beyond(1e-3)
    # ½ (0.8 − 0.4) g t² = 1 mm.
    assert body == "crate" and time == pytest.approx(np.sqrt(2e-3 / (0.4 * 9.81)), abs=6e-3)
    assert "crate" in found._repr_html_() and "apart" in repr(found)
    with pytest.raises(sg.InputError, match="not recorded"):
        sg.compare(crate().simulate(), a)


def test_tables_of_pandas_and_arrow():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    sim = recorded(0.4)
    frame = sim.recorded.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 300 and {"time", "error_J", "worst"} <= set(frame)
    assert sim.recorded.to_arrow().num_rows == 300
    bodies = sim.to_pandas().set_index("body")
    assert bodies.loc["crate", "center_of_mass.x"] == sim.poses[1, 0]
    assert sim.to_arrow().column("velocity.z").to_pylist()[1] == sim.velocities[1, 2]
    assert set(sg.compare(sim, sim).to_pandas()) == {"time", "ground", "crate"}
    rows = sg.sweep("incline", {"mu": [0.3, 0.5]}, measure=["body.slider.position"], t_end=0.02)
    assert list(rows.to_pandas()["mu"]) == [0.3, 0.5] and "body.slider.position.z" in rows.to_arrow().column_names
