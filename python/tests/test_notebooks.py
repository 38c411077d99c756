"""The notebooks run from their first cell to their last."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(path, as_version=4)
    if "numba" in "".join(cell.source for cell in notebook.cells):
        pytest.importorskip("numba")
    # It leaves its files where it runs.
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in shown)


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "friction_sweep", "gripper"]
