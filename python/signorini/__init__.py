"""Signorini: machines whose parts touch. Every step says how wrong it is, in joules, and what is to blame.

    import signorini as sg

    sim = sg.load("arch").simulate()
    sim.run(0.05)
    print(sim.verdict, sim.body("stone_0").position)

Units are those of SI, vectors are along the axes of the world, quaternions are x y z w.
"""

from ._batch import Batch, batch
from ._engine import SCENES, SOLVERS, Solution, Verdict, __version__
from ._errors import (
    InputError,
    InternalError,
    NotAcceptedError,
    NotFoundError,
    ProblemError,
    ProblemFileError,
    RecordError,
    RestoreError,
    SceneError,
    SceneFileError,
    SignoriniError,
    StepError,
    UnsupportedError,
)
from ._problem import KINDS, Problem, read_problem, solve
from ._record import Comparison, Page, Picture, Record, compare
from ._scene import (
    GROUND,
    Box,
    Capsule,
    Compound,
    Cone,
    Cylinder,
    Drive,
    Function,
    HalfSpace,
    HeightField,
    Hull,
    Mesh,
    Scene,
    Shape,
    Sphere,
    load,
    parse,
)
from ._parts import Body, ForceBetween, Joint, JointReaction, Material, Motor
from ._simulation import Simulation, Stretch
from ._sweep import Sweep, latin_hypercube, monte_carlo, sweep

CONTROLLER = "void(float64, CPointer(float64), CPointer(float64))"
"""The signature of compiled controllers, as `numba.cfunc` wants it: time (s), what is observed, what is set."""

__all__ = [
    "Batch", "Body", "Box", "CONTROLLER", "Capsule", "Comparison", "Compound", "Cone", "Cylinder", "Drive",
    "ForceBetween", "Function", "GROUND", "HalfSpace", "HeightField", "Hull", "InputError", "InternalError",
    "Joint", "JointReaction", "KINDS", "Material", "Mesh", "Motor", "NotAcceptedError", "NotFoundError",
    "Page", "Picture", "Problem", "ProblemError", "ProblemFileError", "Record", "RecordError", "RestoreError",
    "SCENES", "SOLVERS", "Scene", "SceneError", "SceneFileError", "Shape", "SignoriniError", "Simulation",
    "Solution", "Sphere", "StepError", "Stretch", "Sweep", "UnsupportedError", "Verdict", "__version__",
    "batch", "compare", "latin_hypercube", "load", "monte_carlo", "parse", "read_problem", "solve", "sweep",
]
