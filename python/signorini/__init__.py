"""Signorini: machines whose parts touch. Every step says how wrong it is, in joules, and what is to blame.

    import signorini as sg

    sim = sg.load("arch").simulate()
    sim.run(0.05)
    print(sim.verdict, sim.body("stone_0").position)

Units are those of SI, vectors are along the axes of the world, quaternions are x y z w.
"""

from . import _errors
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
from ._simulation import Body, ForceBetween, Joint, JointReaction, Material, Motor, Simulation, Stretch
from ._sweep import Sweep, latin_hypercube, sweep

__all__ = [
    "GROUND", "KINDS", "SCENES", "SOLVERS", "Batch", "Body", "Box", "Capsule", "Compound", "Cone",
    "Cylinder", "Drive", "ForceBetween", "Function", "HalfSpace", "HeightField", "Hull", "InputError",
    "InternalError", "Joint", "JointReaction", "Material", "Mesh", "Motor", "NotAcceptedError",
    "NotFoundError", "Problem", "ProblemError", "ProblemFileError", "RecordError", "RestoreError", "Scene",
    "SceneError", "SceneFileError", "Shape", "SignoriniError", "Simulation", "Solution", "Sphere",
    "StepError", "Stretch", "Sweep", "UnsupportedError", "Verdict", "__version__", "batch",
    "latin_hypercube", "load", "parse", "read_problem", "solve", "sweep",
]
