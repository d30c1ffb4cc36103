"""Real work in modules that Cython or mypyc made: work.py NAME [busy|callback].

Busy: repeats it for ever and says "working" once the first round is done. Callback: dies by
SIGABRT inside a Python function that compiled code called. Written for the versions that
wheels.py installs, from Python 3.8 to 3.13.
"""
import os
import sys

import work_more

CALLBACK = False


def give_up(*arguments, **keywords):
    """Dies where it is called from, when that is what was asked for."""
    if CALLBACK:
        os.abort()
    return 0


def implicit():
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import numpy
    import scipy.sparse
    from implicit.als import AlternatingLeastSquares
    from implicit.bpr import BayesianPersonalizedRanking
    ratings = scipy.sparse.random(3000, 2000, density=0.02, format="csr", dtype=numpy.float32,
                                  random_state=1)

    def train():
        for model in (AlternatingLeastSquares(factors=64, iterations=3, num_threads=2),
                      AlternatingLeastSquares(factors=32, iterations=1, use_cg=False, num_threads=1),
                      BayesianPersonalizedRanking(factors=32, iterations=3, num_threads=2)):
            model.fit(ratings, show_progress=False)
            if CALLBACK:
                model.similar_items(3)
    return train


def pandas():
    import numpy
    import pandas
    random = numpy.random.RandomState(1)
    table = pandas.DataFrame({"key": random.randint(0, 500, 200000), "x": random.rand(200000),
                              "word": [str(value) for value in random.randint(0, 9999, 200000)]})
    dates = pandas.Series(["2020-01-%02d 10:00:00" % (1 + i % 28) for i in range(50000)])

    def busy():
        table.groupby("key").x.median()
        table.groupby("word").x.rank()
        table.word.map(lambda word: len(word) + give_up())
        table.x.rolling(100).apply(lambda window: window[0], raw=True) if CALLBACK else None
        table.x.rolling(50).median()
        pandas.to_datetime(dates, format="%Y-%m-%d %H:%M:%S")
        pandas.factorize(table.word)
    return busy


def sklearn():
    import numpy
    from sklearn.cluster import KMeans
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.manifold import TSNE
    from sklearn.neighbors import BallTree, KDTree
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeRegressor
    random = numpy.random.RandomState(1)
    x, y = random.rand(20000, 10), random.rand(20000)

    def distance(one, other):
        return float(abs(one - other).sum()) + give_up()

    def busy():
        if CALLBACK:
            BallTree(x[:200], metric="pyfunc", func=distance)
        DecisionTreeRegressor().fit(x, y)
        KMeans(8, n_init=1, algorithm="elkan").fit(x)
        GradientBoostingRegressor(n_estimators=3).fit(x[:5000], y[:5000])
        KDTree(x).query(x[:3000], k=5)
        SVC().fit(x[:1500], y[:1500] > 0.5)
        TSNE(n_iter=250, init="random").fit_transform(x[:300]) if CALLBACK else None
    return busy


def lxml():
    from lxml import etree
    root = etree.Element("root")
    for number in range(3000):
        child = etree.SubElement(root, "item", number=str(number))
        child.text = "text %d" % number
    text = etree.tostring(root)

    class Target:
        def start(self, tag, attributes):
            return give_up() if tag == "item" else None

        def end(self, tag):
            pass

        def data(self, data):
            pass

        def close(self):
            return None

    def extension(context, value):
        return give_up()

    def busy():
        tree = etree.fromstring(text)
        for element in tree.iter("item"):
            element.get("number")
            element.text = element.text + "!"
        tree.xpath("//item[@number > 100]/text()")
        tree.xpath("mine(1)", extensions={(None, "mine"): extension})
        etree.tostring(tree, pretty_print=True)
        etree.fromstring(text, etree.XMLParser(target=Target()))
    return busy


def uvloop():
    import asyncio
    import uvloop

    async def echo(reader, writer):
        while True:
            data = await reader.read(4096)
            if not data:
                break
            writer.write(data)
            await writer.drain()
            give_up()
        writer.close()

    async def talk():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3000):
            writer.write(b"x" * 1000)
            await reader.readexactly(1000)
        writer.close()
        server.close()

    def busy():
        loop = uvloop.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(talk())
        loop.close()
    return busy


def pyarrow():
    import pyarrow
    import pyarrow.compute
    values = [{"a": i, "b": "word %d" % i, "c": [1.0, 2.0]} for i in range(20000)]

    class Sized:
        def __init__(self, value):
            self.value = value

        def __arrow_array__(self, type=None):
            give_up()
            return pyarrow.array([self.value])

    def busy():
        if CALLBACK:
            pyarrow.array(Sized(1))
        array = pyarrow.array(values)
        array.to_pylist()
        table = pyarrow.Table.from_pydict({"x": list(range(50000)), "y": ["y"] * 50000})
        table.to_pydict()
        pyarrow.compute.sum(table.column("x")).as_py()
        pyarrow.Table.from_batches(table.to_batches(1000)).sort_by("x") if CALLBACK else None
    return busy


def spacy():
    import spacy
    from spacy.matcher import Matcher
    language = spacy.blank("en")
    language.add_pipe("sentencizer")
    matcher = Matcher(language.vocab)

    def found(*arguments):
        return give_up()

    matcher.add("NUMBER", [[{"LIKE_NUM": True}, {"IS_ALPHA": True}]], on_match=found)
    text = "There were 20 cats and 12 dogs at www.example.com, weren't there? Yes (3 of them). " * 200

    def busy():
        document = language(text)
        matcher(document)
        document.to_bytes()
        for token in document:
            token.vector_norm, token.lemma_, token.is_stop
        [span.text for span in document.sents]
    return busy


def numpy_random():
    import numpy.random
    generator = numpy.random.default_rng(1)
    old = numpy.random.RandomState(1)

    class Bits(bytearray):
        """As long as a callback says."""

        def __len__(self):
            return give_up() + 10

        def __getitem__(self, index):
            return give_up()

    def busy():
        if CALLBACK:
            generator.shuffle(Bits(b"0123456789"))
        generator.normal(size=200000)
        generator.multinomial(20, [0.2, 0.3, 0.5], size=20000)
        generator.shuffle(list(range(50000)))
        old.permutation(200000)
        old.gamma(2.0, size=100000)
        old.choice(100000, 5000, replace=False)
        generator.hypergeometric(15, 15, 15, size=50000)
    return busy


def scipy():
    import numpy
    import scipy.ndimage
    import scipy.signal
    import scipy.sparse
    import scipy.sparse.csgraph
    import scipy.spatial
    import scipy.special
    import scipy.cluster.hierarchy
    random = numpy.random.RandomState(1)
    points = random.rand(5000, 3)
    graph = scipy.sparse.random(400, 400, density=0.05, format="csr", random_state=1)

    class Number:
        def __float__(self):
            give_up()
            return 1.0

        def __index__(self):
            return give_up()

    def busy():
        if CALLBACK:
            scipy.sparse.csgraph.dijkstra(graph, limit=Number())
        tree = scipy.spatial.cKDTree(points)
        tree.query_ball_point(points[:500], 0.2)
        scipy.sparse.csgraph.shortest_path(graph, method="D")
        scipy.cluster.hierarchy.linkage(points[:1500], "average")
        scipy.ndimage.label(random.rand(300, 300) > 0.5)
        scipy.spatial.ConvexHull(points)
        scipy.sparse.lil_matrix(graph)[list(range(300)), list(range(300))]
        scipy.signal.upfirdn([1, 1, 1], points[:, 0], 2, 3)
    return busy


def h5py():
    import h5py
    import numpy
    data = numpy.arange(20000)

    def visit(name, thing=None):
        give_up()

    def busy():
        with h5py.File("memory.h5", "w", driver="core", backing_store=False) as file:
            for number in range(200):
                group = file.create_group("g%d" % number)
                group.create_dataset("d", data=data[:1000], chunks=(100,), compression="gzip")
                group.attrs["a"] = number
            file.visititems(visit)
            for group in file.values():
                group["d"][10:900:3]
    return busy


def black():
    import black
    source = "".join("def f%d(a, b = 1,*c):\n  x = {'a':1, 'b' :[1,2,   3]}\n  return x [a]+ b\n" % i
                     for i in range(300))

    def busy():
        black.format_str(source, mode=black.Mode())
    return busy


def main():
    global CALLBACK
    CALLBACK = sys.argv[2:] == ["callback"]
    name = sys.argv[1]
    work = globals()[name]() if name in globals() else getattr(work_more, name)(give_up)
    work()
    print("working", flush=True)
    while True:
        work()


if __name__ == "__main__":
    main()
