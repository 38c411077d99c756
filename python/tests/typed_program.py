"""A program as a user writes it, for the checkers of types."""

import numpy as np
import numpy.typing as npt
import signorini as sg


def main() -> float:
    scene: sg.Scene = sg.load("incline", set={"mu": 0.3})
    sim: sg.Simulation = scene.simulate(dt=2e-3, solver="auto", law="coulomb")
    verdict: sg.Verdict = sim.step()
    culprit: str = verdict.culprit
    joule: float = verdict.error_J
    scheme: float | None = verdict.scheme_J
    poses: npt.NDArray[np.float64] = sim.poses
    stretch: sg.Stretch = sim.run(0.1)
    steps: int = stretch.steps
    position = sim.body("slider").position
    between: sg.ForceBetween = sim.forces_between("steep", "slider")
    sim.record()
    picture: sg.Picture = sim.picture(t=0.0)
    rows: sg.Sweep = sg.sweep("incline", {"mu": [0.1, 0.2]}, measure=["energy.friction"])
    problem: sg.Problem = sim.problem()
    solution: sg.Solution = sg.solve(problem, solver="newton", tol=1e-10)
    print(culprit, scheme, poses.shape, steps, position, between.force, len(picture), len(rows), solution.error_J)
    return joule
