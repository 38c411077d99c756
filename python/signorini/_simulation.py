"""A scene that moves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from . import _engine
from ._scene import Drive, Key, Scene, Vector, _scene, dumps, number, quaternion, vector

if TYPE_CHECKING:
    from ._engine import Verdict
    from ._problem import Problem

CONTACT = np.dtype([
    ("a", "i4"), ("b", "i4"), ("point", "f8", 3), ("normal", "f8", 3), ("force", "f8", 3),
    ("impulse", "f8", 3), ("slip", "f8", 3), ("gap", "f8"), ("status", "U6"),
])
"""The fields of `Simulation.contacts`."""

SLICE = 0.05
"""So long (s) a run works before it looks whether Ctrl-C was pressed."""


class ForceBetween(NamedTuple):
    """What the contacts between two bodies exerted on the second one."""

    force: np.ndarray
    """Sum of the mean contact forces, world, N."""
    torque: np.ndarray
    """Their torque about the centre of mass of the second body, world, N m."""
    contacts: int
    """How many contacts carry."""


class JointReaction(NamedTuple):
    """What a joint exerted on its second body during the last step."""

    force: np.ndarray
    """Mean force, world, N."""
    torque: np.ndarray
    """Mean torque about the joint's point, world, N m."""
    local_force: np.ndarray
    """The force along the axes of the joint's frame on the first body, N."""
    local_torque: np.ndarray
    """The torque along these axes, N m."""
    unique: np.ndarray
    """Which of the six local components have only one possible value."""


class Stretch(NamedTuple):
    """What a stretch of steps was like."""

    steps: int
    """Steps taken."""
    not_accepted: int
    """How many of them were not accepted."""
    worst: Verdict | None
    """The verdict with the largest error relative to its energy scale."""


class _Part:
    __slots__ = ("_sim", "id")
    _what = ""

    def __init__(self, sim: Simulation, id: int) -> None:
        self._sim = sim
        self.id = id
        """The number in the scene."""

    @property
    def name(self) -> str:
        """The name in the scene."""
        return self._sim._names(self._what)[self.id]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class Body(_Part):
    """A body of a simulation, as it is now. Vectors are along the axes of the world."""

    __slots__ = ()
    _what = "body"

    @property
    def position(self) -> np.ndarray:
        """Where the origin of the frame in which the body was described is, m."""
        return self._sim._body_vector(self.id, 0)

    @property
    def velocity(self) -> np.ndarray:
        """The velocity of `position`, m/s."""
        return self._sim._body_vector(self.id, 1)

    @property
    def angular_velocity(self) -> np.ndarray:
        """Its angular velocity, rad/s."""
        return self._sim._body_vector(self.id, 2)

    @property
    def center_of_mass(self) -> np.ndarray:
        """Where its centre of mass is, m."""
        return self._sim._body_vector(self.id, 3)

    @property
    def center_of_mass_velocity(self) -> np.ndarray:
        """The velocity of its centre of mass, m/s."""
        return self._sim._body_vector(self.id, 4)

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternion x y z w: from its own axes to those of the world."""
        return self._sim._body_vector(self.id, 5)

    @property
    def mass(self) -> float | None:
        """Mass, kg; none unless it is rigid."""
        return self._sim._body_mass(self.id)[0]

    @property
    def kinetic_energy(self) -> float:
        """Kinetic energy, J; zero unless it is rigid."""
        return self._sim._body_mass(self.id)[1]

    def velocity_at(self, point: Vector) -> np.ndarray:
        """The velocity of the point of the body that is now at `point` (world), m/s."""
        return self._sim._body_velocity_at(self.id, vector(point, "point"))

    def set_pose(self, position: Vector, orientation: Vector = (0, 0, 0, 1)) -> None:
        """Places a rigid body; joints are not asked."""
        self._sim._set_pose(self.id, vector(position, "position"), quaternion(orientation))

    def set_velocity(self, linear: Vector, angular: Vector = (0, 0, 0)) -> None:
        """Gives a rigid body velocities: of its centre of mass (m/s), and angular (rad/s)."""
        self._sim._set_velocity(self.id, vector(linear, "velocity"), vector(angular, "angular velocity"))

    def apply_force(self, force: Vector, point: Vector | None = None) -> None:
        """Lets a force (N) act during the next step, at a point of the world (m) or at the centre of mass."""
        at = None if point is None else vector(point, "point")
        self._sim._apply_force(self.id, vector(force, "force"), at)

    def apply_torque(self, torque: Vector) -> None:
        """Lets a torque (N m) act during the next step."""
        self._sim._apply_torque(self.id, vector(torque, "torque"))


class Joint(_Part):
    """A joint of a simulation, as it is now."""

    __slots__ = ()
    _what = "joint"

    @property
    def kind(self) -> str:
        """Revolute, prismatic, …"""
        return self._sim._joint_about(self.id)[0]

    @property
    def bodies(self) -> tuple[Body, Body]:
        """Its two bodies."""
        _, a, b = self._sim._joint_about(self.id)
        return Body(self._sim, a), Body(self._sim, b)

    @property
    def angle(self) -> float:
        """The angle about its axis, counted over full turns, rad."""
        return self._sim._joint(self.id, "angle")[0]

    @property
    def slide(self) -> float:
        """The displacement along its axis, m."""
        return self._sim._joint(self.id, "slide")[0]

    @property
    def rate(self) -> float:
        """The rate of the angle, rad/s; of a prismatic joint that of the displacement, of a rod that of the length, m/s."""
        return self._sim._joint(self.id)[1]

    @property
    def reaction(self) -> JointReaction | None:
        """What it exerted on its second body during the last step; none before the first one.

        Solves the step again for the reactions of least energy: for many joints ask `Simulation.reactions()` once.
        """
        return self._sim.reactions().get(self.name)


class Motor(_Part):
    """A motor of a simulation. What is set acts from the next step on."""

    __slots__ = ()
    _what = "motor"

    @property
    def value(self) -> float:
        """The value of what it acts on, m or rad."""
        return self._sim._motor(self.id)[0]

    @property
    def effort(self) -> float:
        """The force or torque that it gave during the last step, N or N m."""
        return self._sim._motor(self.id)[1]

    @property
    def torque(self) -> float:
        """Reading: as `effort`. Setting: gives this torque (of a slide: force), N m or N, whatever it was before."""
        return self.effort

    @torque.setter
    def torque(self, value: float) -> None:
        self._sim._set_motor(self.id, "torque", value)

    force = torque

    @property
    def target(self) -> float:
        """Reading: as `value`. Setting: goes to this value, m or rad; a servo with its stiffness and damping, any
        other motor at once, whatever it costs."""
        return self.value

    @target.setter
    def target(self, value: float) -> None:
        self._sim._set_motor(self.id, "target", value)

    def set_speed(self, value: float) -> None:
        """Goes at this rate, m/s or rad/s."""
        self._sim._set_motor(self.id, "speed", value)

    def set_drive(self, drive: Drive) -> None:
        """Does this."""
        self._sim._set_drive(self.id, dumps(f"motor `{self.name}`", drive._data))


def _figure(place: int, text: str) -> property:
    def get(self: Material) -> float:
        return self._sim._material(self.id)[place]

    def put(self: Material, value: float) -> None:
        self._sim._set_material(self.id, place, value)

    return property(get, put, doc=text)


class Material(_Part):
    """A material of a simulation. What is set acts from the next step on."""

    __slots__ = ()
    _what = "material"
    mu = _figure(0, "Coefficient of friction, ≥ 0.")
    restitution = _figure(1, "Coefficient of restitution, 0…1.")
    compliance = _figure(2, "Compliance of a contact, m/N; 0 is rigid.")
    damping = _figure(3, "Damping of a compliant contact, N s/m.")


class Simulation(_engine.Simulation):
    """A scene that moves. Made by `Scene.simulate`.

        while sim.time < 5:
            knee = sim.joint("knee")
            sim.motor("knee").torque = -40 * knee.angle - 2 * knee.rate
            v = sim.step()

    `poses`, `velocities`, `angles` and `nodes` are read-only views into the engine's memory: they show the present state
    after every step, without a copy, and stay valid as long as they exist, even if the simulation is deleted. Copy what
    you want to keep (`sim.poses.copy()`). Another thread that reads them during a step may see half of it.

    Steps give up the interpreter's lock: simulations in several threads run beside each other.
    """

    end_time: float | None = None
    """When the scene file ends, s; none for a scene made in code."""

    def __repr__(self) -> str:
        return f"Simulation(t = {self.time:.6g} s, {self.steps} steps, {len(self.bodies)} bodies)"

    @property
    def t(self) -> float:
        """The time, s."""
        return self.time

    @property
    def scene(self) -> Scene:
        """The scene as it is now (a copy)."""
        return _scene(Scene, self._scene_json(), self._settings_json(), (self.end_time, "", "", []))

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies; the rows of `poses` and `velocities`."""
        return self._names("body")

    @property
    def joints(self) -> list[str]:
        """Names of the joints; the places in `angles`."""
        return self._names("joint")

    @property
    def motors(self) -> list[str]:
        """Names of the motors."""
        return self._names("motor")

    def body(self, name: Key) -> Body:
        """A body, by name or number."""
        return Body(self, self._find("body", name))

    def joint(self, name: Key) -> Joint:
        """A joint, by name or number."""
        return Joint(self, self._find("joint", name))

    def motor(self, name: Key) -> Motor:
        """A motor, by name or number; the name of a joint stands for its only motor."""
        return Motor(self, self._find("motor", name))

    def material(self, name: Key) -> Material:
        """A material, by name or number."""
        return Material(self, self._find("material", name))

    def apply_force(self, body: Key, force: Vector, point: Vector | None = None) -> None:
        """Lets a force (N) act on a body during the next step, at a point of the world (m) or at its centre of mass."""
        self.body(body).apply_force(force, point)

    def apply_torque(self, body: Key, torque: Vector) -> None:
        """Lets a torque (N m) act on a body during the next step."""
        self.body(body).apply_torque(torque)

    def run(
        self, t_end: float | None = None, *, progress: bool = False, callback: Callable[[Simulation], Any] | None = None
    ) -> Stretch:
        """Steps until the time is `t_end` (s), or until the scene file ends.

        Ctrl-C ends it between two steps and raises KeyboardInterrupt; the state is that of the last step. `callback(sim)`
        is called before every step: a controller. `progress` writes a line to stderr.
        """
        t_end = self.end_time if t_end is None else t_end
        if t_end is None:
            raise TypeError("run() wants t_end: the scene was made in code and does not say when it ends")
        t_end = number(t_end, "t_end")
        begun, steps, refused, worst, there = self.time, 0, 0, None, False
        while not there:
            if callback is not None and self.time < t_end - 1e-9 * self.dt:
                callback(self)
            there, more, bad, verdict = self._advance(t_end, 0.0 if callback else SLICE)
            steps, refused = steps + more, refused + bad
            if verdict is not None and (worst is None or verdict.error_relative > worst.error_relative):
                worst = verdict
            if progress:
                share = (self.time - begun) / (t_end - begun) if t_end > begun else 1.0
                sys.stderr.write(f"\r{100 * share:5.1f} %   t = {self.time:.4g} s   {steps} steps")
        if progress:
            sys.stderr.write("\n")
        return Stretch(steps, refused, worst)

    @property
    def contacts(self) -> np.recarray:
        """The contacts of the last step, open ones included, as a structured array.

        Fields: `a`, `b` (numbers of the bodies), `point` (m), `normal` (from a to b), `force` (mean force on b, N),
        `impulse` (N s), `slip` (velocity of b along a, m/s), `gap` (m), `status` ("open", "stick", "slip").
        """
        return np.frombuffer(self._contacts(), dtype=CONTACT).view(np.recarray)

    def forces_between(self, a: Key, b: Key) -> ForceBetween:
        """What the contacts between two bodies exerted on `b` during the last step."""
        return ForceBetween(*self._forces_between(self._find("body", a), self._find("body", b)))

    def reactions(self) -> dict[str, JointReaction]:
        """What every joint exerted on its second body during the last step, by name; empty before the first step."""
        names = self.joints
        return {
            names[joint]: JointReaction(*(np.array(x) for x in rest)) for joint, *rest in self._reactions()
        }

    def problem(self) -> Problem:
        """The problem of the last step: H v = k + Jᵀ r, u = J v + E r + w, one law per block."""
        from ._problem import Problem

        return Problem._of(self._problem())

    def picture(self, path: Any = None, *, size: tuple[int, int] = (1280, 800), forces: bool = False) -> bytes:
        """A picture of the present moment, drawn without a display: the bytes of a PNG file, and the file if asked for."""
        png = self._picture((int(size[0]), int(size[1])), forces)
        if path is not None:
            with open(path, "wb") as file:
                file.write(png)
        return png

    def _repr_png_(self) -> bytes:
        return self.picture(size=(960, 600), forces=True)

    def __reduce__(self) -> tuple:
        return _simulation, (type(self), self._scene_json(), self._settings_json(), self.save(), self.end_time)

    def __copy__(self) -> Simulation:
        make, arguments = self.__reduce__()
        return make(*arguments)

    def __deepcopy__(self, memo: Any) -> Simulation:
        return self.__copy__()

    def copy(self) -> Simulation:
        """Another simulation in the same state; from there each goes its own way."""
        return self.__copy__()


def _simulation(kind: type[Simulation], scene: str, settings: str, state: bytes, end_time: float | None) -> Simulation:
    sim = kind(_scene(Scene, scene, settings, (end_time, "", "", [])), settings)
    sim.restore(state)
    sim.end_time = end_time
    return sim


def read(sim: Simulation, path: str) -> Any:
    """The figure that a path names: `body.crate.position`, `joint.knee.angle`, `motor.knee.effort`, `energy.friction`,
    `time`."""
    from ._errors import InputError

    what, _, rest = path.partition(".")
    if not rest:
        if path in ("time", "steps"):
            return getattr(sim, path)
    elif what == "energy":
        energy = sim.energy
        if rest in energy:
            return energy[rest]
    elif what in ("body", "joint", "motor", "material"):
        name, _, figure = rest.rpartition(".")
        part = getattr(sim, what)(name)
        if not figure.startswith("_") and isinstance(getattr(type(part), figure, None), property):
            return getattr(part, figure)
    raise InputError(f"`{path}` names nothing: wanted e.g. body.NAME.position, joint.NAME.angle, energy.friction, time")
