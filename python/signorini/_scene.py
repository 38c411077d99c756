"""Scenes: read from files, or built in code with the names of the Rust library."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

import numpy as np

from . import _engine
from ._errors import InputError
from ._names import Named

if TYPE_CHECKING:
    from ._simulation import Simulation

GROUND = 0
"""The number of the fixed body that every scene begins with."""

Vector = Any
Key = Any


def vector(x: Vector, what: str = "vector", size: int = 3) -> list[float]:
    """A list of finite floats of this size."""
    try:
        out = [float(c) for c in np.asarray(x, dtype=float).ravel()]
    except (TypeError, ValueError):
        raise InputError(f"{what} is {x!r}, wanted {size} numbers") from None
    if len(out) != size or not all(map(math.isfinite, out)):
        raise InputError(f"{what} is {x!r}, wanted {size} finite numbers")
    return out


def number(x: Any, what: str) -> float:
    """A finite float."""
    try:
        out = float(x)
    except (TypeError, ValueError):
        raise InputError(f"{what} is {x!r}, wanted a number") from None
    if not math.isfinite(out):
        raise InputError(f"{what} is {out}, wanted a finite number")
    return out


def limitless(x: Any, what: str) -> Any:
    """A float that may be infinite, as JSON has it."""
    out = float(x)
    if math.isnan(out):
        raise InputError(f"{what} is nan, wanted a number")
    return ("inf" if out > 0 else "-inf") if math.isinf(out) else out


def dumps(what: str, x: Any) -> str:
    """JSON without NaN."""
    try:
        return json.dumps(x, allow_nan=False)
    except ValueError:
        raise InputError(f"{what}: a number is not finite") from None


class Shape:
    """A shape in its own frame; made by `Sphere`, `Box`, … (lengths in m).

        assert abs(sg.Sphere(0.1).volume - 4 / 3 * 3.14159 * 0.1**3) < 1e-6
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"Shape({self._data!r})"

    def _json(self) -> str:
        return dumps("shape", self._data)

    @property
    def volume(self) -> float:
        """Volume, m³."""
        return _engine.volume(self._json())


def Sphere(radius: float) -> Shape:
    """A ball of this radius, m: `sg.Sphere(0.05)`."""
    return Shape({"sphere": {"radius": number(radius, "radius")}})


def Box(edges: Vector) -> Shape:
    """A rectangular box with these edge lengths, m, along the axes: `sg.Box([0.4, 0.3, 0.2])`."""
    half = [0.5 * e for e in vector(edges, "edges")]
    return Shape({"box": {"half_extents": half}})


def _round(kind: str, radius: float, length: float) -> Shape:
    return Shape({kind: {"radius": number(radius, "radius"), "half_length": 0.5 * number(length, "length")}})


def Capsule(radius: float, length: float) -> Shape:
    """A cylinder along z with half-balls at its ends; `length` is the distance of their centres, m:
    `sg.Capsule(0.05, 0.3)`."""
    return _round("capsule", radius, length)


def Cylinder(radius: float, length: float) -> Shape:
    """A circular cylinder along z, m: `sg.Cylinder(radius=0.05, length=0.2)`."""
    return _round("cylinder", radius, length)


def Cone(radius: float, length: float) -> Shape:
    """A circular cone along z, apex up, centred at half its height, m: `sg.Cone(radius=0.05, length=0.2)`."""
    return _round("cone", radius, length)


def HalfSpace() -> Shape:
    """Everything below the plane z = 0: `scene.add_collider("ground", sg.HalfSpace())`."""
    return Shape("half_space")


def _points(points: Any, what: str) -> list[list[float]]:
    array = np.asarray(points, dtype=float)
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{what} has the shape {array.shape}, wanted n × 3")
    return array.tolist()


def Hull(points: Any) -> Shape:
    """The convex hull of points (n × 3), m: `sg.Hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])`."""
    return Shape({"hull": {"points": _points(points, "points")}})


def Mesh(vertices: Any, triangles: Any) -> Shape:
    """A triangle mesh: vertices (n × 3), m; triangles (k × 3), counter-clockwise seen from outside."""
    corners = np.asarray(triangles)
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.size and corners.min() < 0:
        raise InputError(f"triangles have the shape {corners.shape}, wanted k × 3 indices ≥ 0")
    return Shape({"mesh": {"vertices": _points(vertices, "vertices"), "triangles": corners.astype(int).tolist()}})


def HeightField(heights: Any, spacing: Vector) -> Shape:
    """A surface z over a regular grid, centred at the origin: heights[y, x] and spacing (x, y), m; solid below."""
    grid = np.asarray(heights, dtype=float)
    if grid.ndim != 2:
        raise InputError(f"heights have the shape {grid.shape}, wanted a table")
    counts = [grid.shape[1], grid.shape[0]]
    field = {"counts": counts, "spacing": vector(spacing, "spacing", 2), "heights": grid.ravel().tolist()}
    return Shape({"height_field": field})


def Compound(parts: Iterable[tuple[Vector, Shape]]) -> Shape:
    """Several shapes moving as one: pairs of position (m) and shape.

        dumbbell = sg.Compound([([0, 0, -0.2], sg.Sphere(0.1)), ([0, 0, 0.2], sg.Sphere(0.1))])
    """
    def one(at: Vector, shape: Shape) -> Any:
        return [{"position": vector(at), "orientation": [0.0, 0.0, 0.0, 1.0]}, shape._data]
    return Shape({"compound": {"parts": [one(at, shape) for at, shape in parts]}})


class Function:
    """A function of time, in the unit of whatever it drives. A plain number is a constant.

        shake = sg.Function.sine(amplitude=0.002, frequency=50)
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"Function({self._data!r})"

    @staticmethod
    def constant(value: float) -> Function:
        """The same value at all times."""
        return Function({"constant": number(value, "value")})

    @staticmethod
    def ramp(rate: float, value: float = 0.0) -> Function:
        """`value + rate · t`."""
        return Function({"ramp": {"value": number(value, "value"), "rate": number(rate, "rate")}})

    @staticmethod
    def sine(amplitude: float, frequency: float, phase: float = 0.0, offset: float = 0.0) -> Function:
        """`offset + amplitude · sin(2π frequency t + phase)`, Hz and rad."""
        return Function({"sine": {"offset": offset, "amplitude": amplitude, "frequency": frequency, "phase": phase}})

    @staticmethod
    def smooth_step(from_: float, to: float, start: float, duration: float) -> Function:
        """From one value to another without a jerk at either end, s."""
        return Function({"smooth_step": {"from": from_, "to": to, "start": start, "duration": duration}})

    @staticmethod
    def table(times: Sequence[float], values: Sequence[float]) -> Function:
        """Straight lines between points, constant outside."""
        return Function({"table": {"times": [float(t) for t in times], "values": [float(v) for v in values]}})

    @staticmethod
    def of(x: Any) -> Function:
        """A function as it is, a number as a constant."""
        return x if isinstance(x, Function) else Function.constant(x)


class Drive:
    """What a motor does to its coordinate.

        scene.add_motor("knee", "knee", "angle", sg.Drive.servo(target=0.5, stiffness=200, damping=5, effort=40))
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"Drive({self._data!r})"

    @staticmethod
    def position(target: Any) -> Drive:
        """The coordinate follows a function, whatever it costs (m, rad)."""
        return Drive({"position": Function.of(target)._data})

    @staticmethod
    def speed(speed: Any, effort: float = math.inf) -> Drive:
        """The rate follows a function (m/s, rad/s) as far as the effort (N, N m) suffices."""
        if math.isinf(effort):
            return Drive({"speed": Function.of(speed)._data})
        return Drive({"limited_speed": {"speed": Function.of(speed)._data, "effort": float(effort)}})

    @staticmethod
    def effort(effort: Any = 0.0) -> Drive:
        """A force or torque along the coordinate (N, N m)."""
        return Drive({"effort": Function.of(effort)._data})

    @staticmethod
    def servo(target: Any, stiffness: float, damping: float, effort: float = math.inf) -> Drive:
        """`k (target − x) + c (target rate − ẋ)`, taken at the end of the step."""
        data = {"target": Function.of(target)._data, "stiffness": stiffness, "damping": damping}
        return Drive({"servo": {**data, "effort": limitless(effort, "effort")}})

    @staticmethod
    def speed_servo(speed: Any, damping: float, effort: float = math.inf) -> Drive:
        """`c (speed − ẋ)`, taken at the end of the step."""
        data = {"speed": Function.of(speed)._data, "damping": damping}
        return Drive({"speed_servo": {**data, "effort": limitless(effort, "effort")}})


JOINTS = (
    "spherical", "revolute", "prismatic", "cylindrical", "universal", "fixed", "planar", "point_on_line",
    "point_on_plane", "free",
)

UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def choose(what: str, name: str, known: Sequence[str]) -> str:
    """The name, if it is known."""
    if name in known:
        return name
    import difflib

    near = difflib.get_close_matches(str(name), known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"wanted one of {', '.join(known)}"
    raise InputError(f"there is no {what} `{name}`: {hint}")


def quaternion(q: Vector) -> list[float]:
    """A unit quaternion x y z w."""
    out = vector(q, "orientation", 4)
    length = math.sqrt(sum(c * c for c in out))
    if not length > 1e-6:
        raise InputError(f"orientation is {q!r}, wanted a quaternion x y z w that is not zero")
    return [c / length for c in out]


class Scene(_engine.Scene, Named):
    """What exists: bodies, joints, motors, forces, materials.

    Read one with `load` or `parse`, or build it:

        scene = sg.Scene("pendulum")
        scene.add_body("bob", sg.Sphere(0.05), mass=1.0, position=[1, 0, 0])
        scene.add_joint("pivot", "revolute", ("ground", "bob"), position=[0, 0, 0], axis=[0, 1, 0])
        sim = scene.simulate(dt=1e-3)

    Bodies, joints and materials are named by name or by the number that `add_…` returns.
    """

    def __repr__(self) -> str:
        counts = f"{len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.motors)} motors"
        return f"Scene({self.name!r}: {counts})"

    @property
    def materials(self) -> list[str]:
        """Names of the materials; the first is the default."""
        return self._names("material")

    def add_material(
        self,
        name: str,
        mu: float = 0.5,
        restitution: float = 0.0,
        compliance: float = 0.0,
        damping: float = 0.0,
        torsion: float = 0.0,
        rolling: float = 0.0,
    ) -> int:
        """Adds a material: friction, restitution (0…1), compliance (m/N), damping (N s/m), torsional and rolling
        friction (m): the torque against spinning about the normal and against rolling, for each N of normal force."""
        data = {
            "name": name,
            "mu": mu,
            "restitution": restitution,
            "compliance": compliance,
            "damping": damping,
            "torsion": torsion,
            "rolling": rolling,
        }
        return self._add_material(dumps(f"material `{name}`", data))

    def add_body(
        self,
        name: str,
        shape: Shape | None = None,
        *,
        mass: float | None = None,
        inertia: Vector | None = None,
        density: float | None = None,
        position: Vector = (0, 0, 0),
        orientation: Vector = UPRIGHT,
        velocity: Vector = (0, 0, 0),
        angular_velocity: Vector = (0, 0, 0),
        material: Key = 0,
        fixed: bool = False,
    ) -> int:
        """Adds a body and returns its number.

        A shape with a `mass` (kg) or a `density` (kg/m³) makes a rigid body whose inertia is that of the shape; a `mass`
        with an `inertia` (three numbers along the body axes, or 3 × 3, kg m²) makes one with or without a shape;
        `fixed` makes one that does not move. `position` (m) and `orientation` are those of the frame in which the
        shape lies, the velocities (m/s, rad/s) those of the centre of mass.
        """
        at, turn = vector(position, "position"), quaternion(orientation)
        moves = vector(velocity, "velocity"), vector(angular_velocity, "angular velocity")
        what = f"body `{name}`"
        if not fixed and mass is None and density is None:
            raise InputError(f"{what}: wanted a mass, a density, or fixed=True")
        if shape is not None and not fixed and inertia is None:
            rho = number(density, "density") if density is not None else number(mass, "mass") / shape.volume
            part = (shape._json(), [0.0, 0.0, 0.0], list(UPRIGHT), rho, material)
            return self._add_solid(name, (at, turn), moves, [part])
        kind: Any = "fixed"
        if not fixed:
            if inertia is None or mass is None:
                raise InputError(f"{what}: wanted a shape, or a mass and an inertia")
            given = np.asarray(inertia, dtype=float)
            tensor = np.diag(given) if given.shape == (3,) else given
            if tensor.shape != (3, 3):
                raise InputError(f"{what}: inertia has the shape {given.shape}, wanted 3 or 3 × 3")
            kind = {"rigid": {"mass": number(mass, "mass"), "inertia": tensor.T.ravel().tolist()}}
        # The spin is stored along the axes of the body.
        spin = rotate([-turn[0], -turn[1], -turn[2], turn[3]], moves[1])
        data = {
            "name": name, "kind": kind, "pose": {"position": at, "orientation": turn},
            "velocity": moves[0], "spin": spin, "origin": [0.0, 0.0, 0.0],
        }
        body = self._add_body(dumps(what, data))
        if shape is not None:
            self.add_collider(body, shape, material=material)
        return body

    def add_solid(self, name: str, parts: Iterable[tuple], *, position: Vector = (0, 0, 0), orientation: Vector = UPRIGHT) -> int:
        """Adds a rigid body made of several shapes: (shape, position, density[, material]), m and kg/m³."""
        def one(shape: Shape, at: Vector, density: float, material: Key = 0) -> tuple:
            return shape._json(), vector(at), list(UPRIGHT), number(density, "density"), material
        still = [0.0, 0.0, 0.0]
        at = vector(position, "position"), quaternion(orientation)
        return self._add_solid(name, at, (still, still), [one(*part) for part in parts])

    def add_collider(
        self, body: Key, shape: Shape, *, position: Vector = (0, 0, 0), orientation: Vector = UPRIGHT,
        material: Key = 0, belt: Vector = (0, 0, 0),
    ) -> int:
        """Puts a shape on a body, in the frame in which the body was described; `belt` is a surface velocity, m/s."""
        at = vector(position, "position"), quaternion(orientation)
        return self._add_collider(body, shape._json(), at, (material, vector(belt, "belt")))

    def add_joint(
        self, name: str, kind: str, bodies: tuple[Key, Key], *, position: Vector = (0, 0, 0), axis: Vector = (0, 0, 1)
    ) -> int:
        """Adds a joint (`revolute`, `prismatic`, `spherical`, …) at a point of the world, as the bodies now stand."""
        choose("kind of joint", kind, JOINTS)
        a, b = bodies
        direction = vector(axis, "axis")
        if not any(direction):
            raise InputError(f"joint `{name}`: the axis is zero")
        return self._add_joint(name, json.dumps(kind), (a, b), (vector(position, "position"), direction))

    def add_rod(self, name: str, bodies: tuple[Key, Key], points: tuple[Vector, Vector]) -> int:
        """Adds a massless rod between two points of the world, as the bodies now stand."""
        a, b = bodies
        return self._add_rod(name, (a, b), (vector(points[0], "point"), vector(points[1], "point")))

    def add_motor(self, name: str, joint: Key, coordinate: str = "angle", drive: Drive | None = None) -> int:
        """Adds a motor on a coordinate (`angle`, `slide`, `distance`) of a joint; without a drive, a torque of 0."""
        drive = drive or Drive.effort(0.0)
        return self._add_motor(name, joint, coordinate, dumps(f"motor `{name}`", drive._data))

    def simulate(
        self,
        dt: float | None = None,
        *,
        accuracy: float | None = None,
        order: int | None = None,
        time_error: str | None = None,
        solver: str | None = None,
        law: str | None = None,
        tolerance: float | None = None,
        velocity_tolerance: float | None = None,
        max_work: int | None = None,
        policy: str | None = None,
        coordinates: str | None = None,
        warm_start: bool | None = None,
        projections: int | None = None,
    ) -> Simulation:
        """A simulation of this scene, with the settings of its file and these above them.

        `dt`: length of a step, s. `accuracy`: largest error of a position in one step, m: steps are then as short as this
        asks for, and `dt` is the time between outputs. `order` in time of smooth steps: 2, or 4 or 6 by extrapolation (5 or 9 solves).
        `time_error`: how the error of the time step is estimated, `free` or `doubling` (three solves). `solver`: one of `signorini.SOLVERS`. `law`: `coulomb` or `cone` (associated
        friction). `tolerance`: largest error relative to the energy scale. `policy` for steps that are not accepted:
        `accept-with-warning`, `substep` or `stop`. `coordinates` of mechanisms: `auto`, `tree` (those of their joints) or `bodies`.
        """
        from ._simulation import Simulation

        settings = json.loads(self._settings_json())
        if dt is not None:
            settings["h"] = number(dt, "dt")
        if accuracy is not None:
            settings["accuracy"] = number(accuracy, "accuracy")
        if order is not None:
            settings["order"] = int(order)
        if time_error is not None:
            settings["time_error"] = choose("time_error", time_error, ("free", "doubling"))
        if solver is not None:
            settings["solver"] = choose("solver", solver, _engine.SOLVERS)
        if law is not None:
            settings["scheme"]["friction"] = choose("law", law, ("coulomb", "cone"))
        if tolerance is not None:
            settings["stop"]["tolerance"]["relative"] = number(tolerance, "tolerance")
        if velocity_tolerance is not None:
            settings["stop"]["tolerance"]["velocity"] = number(velocity_tolerance, "velocity_tolerance")
        if max_work is not None:
            settings["stop"]["work"] = int(max_work)
        if policy is not None:
            settings["policy"] = choose("policy", policy, ("accept-with-warning", "substep", "stop"))
        if coordinates is not None:
            settings["coordinates"] = choose("coordinates", coordinates, ("auto", "tree", "bodies"))
        if warm_start is not None:
            settings["warm_start"] = bool(warm_start)
        if projections is not None:
            settings["projections"] = int(projections)
        return Simulation(self, json.dumps(settings), self.end_time)

    def __reduce__(self) -> tuple:
        rest = (self.end_time, self.about, self.source, self.notes)
        return _scene, (type(self), self._json(), self._settings_json(), rest)

    def __copy__(self) -> Scene:
        make, arguments = self.__reduce__()
        return make(*arguments)

    def __deepcopy__(self, memo: Any) -> Scene:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scene):
            return NotImplemented
        return self._json() == other._json() and self._settings_json() == other._settings_json()

    __hash__ = None  # type: ignore[assignment]


def rotate(q: Vector, v: Vector) -> list[float]:
    """A vector turned by a unit quaternion."""
    axis, v = np.asarray(q[:3]), np.asarray(v)
    t = 2.0 * np.cross(axis, v)
    return (v + q[3] * t + np.cross(axis, t)).tolist()


def _scene(kind: type[Scene], scene: str, settings: str, rest: tuple) -> Scene:
    out = kind()
    out._become(scene, settings, rest)
    return out


def _set(values: Mapping[str, Any] | None) -> list[str]:
    def text(x: Any) -> str:
        return x if isinstance(x, str) else repr(float(x))
    return [f"{name}={text(value)}" for name, value in (values or {}).items()]


def load(
    path: str | os.PathLike[str],
    set: Mapping[str, Any] | None = None,
    *,
    floor: bool = False,
    fixed_base: bool = False,
    at: Vector | None = None,
    joints: Mapping[str, float] | None = None,
    hold: bool = False,
    strict: bool = False,
    self_collision: bool = True,
    hulls: bool = True,
    key: str | None = None,
) -> Scene:
    """Reads a scene file (TOML, JSON), a robot file (URDF, MJCF), or a scene that comes with the package (`signorini.SCENES`).

    `set` gives other values to parameters of the scene: numbers in SI units, or texts with a unit. The rest is for robot files:
    `floor` puts the robot on a floor at z = 0, `fixed_base` holds its root, `at` (m) places it, `joints` gives joints their value
    at the beginning (rad or m), `hold` gives every joint without a motor one that holds it, `strict` refuses files with faults
    that could be repaired, `self_collision=False` lets its parts pass through each other, `hulls=False` takes moving meshes as
    they are, `key` names the keyframe to begin with (MJCF).

        scene = sg.load("incline", set={"mu": 0.3})
        robot = sg.load("robot.urdf", floor=True, joints={"knee": 0.6}, hold=True)
    """
    # A value without a unit is a length of a slider and an angle of a hinge.
    values = {str(name): number(x, f"joint `{name}`") for name, x in (joints or {}).items()}
    robot = {
        "strict": strict, "fixed_base": fixed_base, "floor": floor, "at": None if at is None else vector(at, "at"),
        "joints": [[name, [x, x]] for name, x in values.items()], "hold": hold,
        "no_self_collision": not self_collision, "no_hulls": not hulls, "key": key,
    }
    return Scene(path=os.fspath(path), set=_set(set), robot=dumps("robot", robot))


def parse(text: str, set: Mapping[str, Any] | None = None) -> Scene:
    """Reads the text of a scene file (TOML); it cannot include others.

        scene = sg.parse("[[body]]\\nname = 'ball'\\nshape = { sphere = '10 cm' }\\ndensity = 1000", set={})
    """
    return Scene(text=text, set=_set(set))
