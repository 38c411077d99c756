"""Formulas over what is measured: `-40*knee.angle - 2*knee.rate`, as plain data for the engine."""

from __future__ import annotations

import ast
import difflib
import math
from typing import TYPE_CHECKING, Any

from ._errors import InputError

if TYPE_CHECKING:
    from ._simulation import Simulation

OPERATORS = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power", ast.Mod: "mod",
}
ONE = ("abs", "sign", "sqrt", "exp", "log", "floor", "sin", "cos", "tan", "asin", "acos", "atan")
TWO = ("min", "max", "atan2")
OF_JOINTS = ("angle", "slide", "distance", "rate")
OF_BODIES = ("x", "y", "z", "vx", "vy", "vz", "speed")


def formula(sim: Simulation, text: str) -> Any:
    """The formula of a text: numbers (SI), `t`, `pi`, `JOINT.angle`, `slide`, `distance`, `rate`, `BODY.x`, `y`, `z`, `vx`, `vy`,
    `vz`, `speed`, `MOTOR.effort`; + - * / ^ %, comparisons, `a if c else b`, sin, cos, sqrt, abs, min, max, atan2, …"""
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except SyntaxError as error:
        raise InputError(f'formula "{text}": {error.msg}') from None
    return _Reader(sim, text).read(tree.body)


class _Reader:
    def __init__(self, sim: Simulation, text: str) -> None:
        self.sim, self.text = sim, text

    def wrong(self, why: str) -> InputError:
        return InputError(f'formula "{self.text}": {why}')

    def read(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return {"number": float(node.value)}
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return {"binary": [OPERATORS[type(node.op)], self.read(node.left), self.read(node.right)]}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.read(node.operand)
            return inner if isinstance(node.op, ast.UAdd) else {"unary": ["negative", inner]}
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self.compare(node.ops[0], self.read(node.left), self.read(node.comparators[0]))
        if isinstance(node, ast.IfExp):
            return {"if": [self.read(node.test), self.read(node.body), self.read(node.orelse)]}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id, [self.read(x) for x in node.args])
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.name(ast.unparse(node))
        raise self.wrong(f"`{ast.unparse(node)}` is not understood")

    def compare(self, sign: ast.cmpop, a: Any, b: Any) -> Any:
        for kind, name, swap in ((ast.Lt, "less", False), (ast.LtE, "less_equal", False), (ast.Gt, "less", True),
                                 (ast.GtE, "less_equal", True), (ast.Eq, "equal", False)):
            if isinstance(sign, kind):
                return {"binary": [name, b, a] if swap else [name, a, b]}
        raise self.wrong("wanted one of < <= > >= ==")

    def call(self, name: str, arguments: list[Any]) -> Any:
        for names, count, kind in ((ONE, 1, "unary"), (TWO, 2, "binary")):
            if name in names:
                if len(arguments) != count:
                    raise self.wrong(f"`{name}` is given {len(arguments)} values, wanted {count}")
                return {kind: [name, *arguments]}
        raise self.wrong(f"there is no function `{name}`: wanted one of {', '.join((*ONE, *TWO))}")

    def name(self, name: str) -> Any:
        if name == "t":
            return {"of": "time"}
        if name == "pi":
            return {"number": math.pi}
        thing, _, what = name.rpartition(".")
        sim = self.sim
        if what in OF_JOINTS and thing in sim.joints:
            joint = sim.joint(thing)
            if what != "rate":
                return {"of": {"value": [joint.id, what]}}
            main = {"prismatic": "slide", "point_on_line": "slide", "distance": "distance"}.get(joint.kind, "angle")
            return {"of": {"rate": [joint.id, main]}}
        if what in OF_BODIES and thing in sim.bodies:
            body = sim.body(thing).id
            if what == "speed":
                return {"of": {"speed": body}}
            return {"of": {"velocity" if what[0] == "v" else "position": [body, what[-1]]}}
        if what == "effort" and thing in sim.motors:
            return {"of": {"effort": sim.motor(thing).id}}
        known = ["t", "pi", *(f"{x}.{y}" for x in sim.joints for y in OF_JOINTS), *(f"{x}.{y}" for x in sim.bodies for y in OF_BODIES)]
        near = difflib.get_close_matches(name, known, 1)
        raise self.wrong(f"`{name}` names nothing: " + (f"did you mean `{near[0]}`?" if near else "wanted e.g. JOINT.angle, BODY.x, t"))
