"""The class of `self` and `cls` beside a method's name, where the method is another class's."""
import analyzer
import living

PROGRAM = """
import time
class Base(object):
    def run(self):
        return self.step()
    def step(self):
        return type(self).make()
    @classmethod
    def make(cls):
        return helper(cls())
    def inner(self):
        def inside():
            return self.last()
        return inside()
    def last(self):
        print("ready", flush=True)
        time.sleep(600)
class Derived(Base):
    def run(self):
        return Base.run(self)
class Innermost(Derived):
    def step(self):
        return Base.step(self)
def helper(self):
    return self.inner()
Innermost().run()
"""


def test_the_class_of_self(interpreter):
    with living.running([interpreter.path, "-s", "-c", PROGRAM]) as process:
        document = analyzer.run("--format", "json", "--pid", process.pid).json
        text = analyzer.run("--pid", process.pid).stdout
    frames = [frame for frame in document["threads"][0]["frames"] if frame["kind"] == "python"]
    names = [(frame["name"], frame.get("self_class")) for frame in frames]
    # `inner` has its `self` in a cell: up to 3.10 that is not known to be the argument.
    in_cell = "Innermost" if interpreter.minor >= (3, 11) else None
    assert names == [("last", "Innermost"), ("inside", None), ("inner", in_cell), ("helper", None),
                     ("make", "Innermost"), ("step", "Innermost"), ("step", None), ("run", "Innermost"),
                     ("run", "Innermost"), ("<module>", None)]
    assert "Base.make (Innermost) " in text
    assert "Innermost.step  " in text
