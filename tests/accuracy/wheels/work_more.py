"""More of it, for work.py: what each of these brought is behind its name.

Each takes what gives up (dies where it is called from, in callback mode), and returns the work.
"""
import os


def pyzmq(give_up):
    """Limited API: tracebacks are made otherwise."""
    import zmq
    context = zmq.Context()
    one, other = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    one.bind("inproc://work")
    other.connect("inproc://work")
    other.setsockopt(zmq.RCVTIMEO, 300)

    def busy():
        for _ in range(2000):
            one.send(b"x" * 100)
            other.recv()
            one.send(memoryview(b"y" * 70000), copy=False)
            other.recv(copy=False)
        try:
            other.recv()
        except zmq.Again:
            pass
    return busy


def dependency_injector(give_up):
    """Limited API, hardly optimised."""
    from dependency_injector import containers, providers

    class Service:
        def __init__(self, one, two=2):
            give_up()

    class Container(containers.DeclarativeContainer):
        config = providers.Configuration()
        service = providers.Factory(Service, 1, two=config.two)
        both = providers.List(service, service)

    def busy():
        container = Container()
        container.config.from_dict({"two": 3})
        for _ in range(5000):
            container.service()
            container.both()
    return busy


def cytoolz(give_up):
    """Slots of types that do not report; Cython 3.3's own types."""
    import cytoolz

    def key(value):
        give_up()
        return value % 7

    def busy():
        cytoolz.groupby(key, range(100000))
        list(cytoolz.remove(lambda pair: key(pair[0]), cytoolz.sliding_window(2, range(50000))))
        list(cytoolz.join(key, range(1000), key, range(1000)))
        cytoolz.merge_with(sum, [{number: 1} for number in range(10000)])
    return busy


def gevent(give_up):
    """A class whose methods are called as a generator's are."""
    import gevent
    import gevent.queue

    def busy():
        queue = gevent.queue.Queue()

        def put():
            for number in range(3000):
                queue.put(number)

        def get():
            for number in range(3000):
                queue.get()
            give_up()
        gevent.joinall([gevent.spawn(put), gevent.spawn(get)])
        gevent.sleep(0.01)
    return busy


def cython(give_up):
    """Functions that catch and raise again; helpers in a module of their own."""
    from Cython.Compiler.Main import compile as compile_file
    with open("work.pyx", "w") as file:
        for number in range(100):
            file.write("def f%d(int a, b=1):\n    cdef int i\n    for i in range(a):\n"
                       "        b += i\n    return [x + 1 for x in b]\n" % number)
    return lambda: compile_file(os.path.abspath("work.pyx"))


def asyncpg(give_up):
    """A .pxd of another module is inlined."""
    from asyncpg.pgproto import pgproto

    def busy():
        for number in range(20000):
            value = pgproto.UUID("2c0a0a02-dd02-4d2c-8d15-fd95aea1a0a%d" % (number % 10))
            str(value), value == value, hash(value), value.int
        sorted(pgproto.UUID(bytes(15) + bytes([number % 256])) for number in range(3000))
    return busy


def lupa(give_up):
    """A library without symbols in the same file, which calls back."""
    import lupa

    def busy():
        runtime = lupa.LuaRuntime()
        runtime.execute("t = {} for i = 1, 100000 do t[i] = i * 2 end")
        runtime.eval("function(f) for i = 1, 20000 do f(i) end end")(give_up)
        list(runtime.table(*range(3000)).items())
    return busy


def sqlglot(give_up):
    """mypyc, one library a module."""
    import sqlglot
    query = ("SELECT a, b + 1 AS c, COUNT(*) FROM t JOIN u ON t.x = u.x WHERE a IN (1, 2, 3) "
             "GROUP BY 1 HAVING c > 2 ORDER BY 2")

    def busy():
        for _ in range(30):
            sqlglot.transpile(query, read="duckdb", write="hive")
    return busy
