# cython: language_level=3, binding=True
# Variables of every kind on one stack, and what they hold as the program itself says, in `truth`.
# Made into C by: cython3 values.pyx

truth = {}

cdef enum Color:
    RED = 1
    GREEN = 2

cdef struct Inner:
    double ratio
    char tag

cdef struct Node:
    int value
    Inner inner
    int numbers[4]
    const char *label


cdef int dereference(int *place, double factor, object note) nogil except -1:
    return place[0] + <int>factor


cdef class Base:
    cdef public object name
    cdef int level


cdef class Solver(Base):
    cdef double[:, ::1] factors
    cdef object callback
    cdef Node node
    cdef unsigned char flag

    def __init__(self, callback, double[:, ::1] factors):
        self.callback = callback
        self.factors = factors
        self.name = 'solver'
        self.level = 3
        self.flag = 200
        self.node.value = 42
        self.node.inner.ratio = 0.25
        self.node.inner.tag = 65
        for index in range(4):
            self.node.numbers[index] = index + 1
        self.node.label = b'a "label"'

    cdef int visit(self, int count, double[:] row, double[:, :] turned, long big) except -1:
        cdef Color color = GREEN
        cdef bint yes = count > 0
        cdef Node local = self.node
        cdef double complex pair = 1.5 - 2j
        cdef int grid[2][3]
        cdef unsigned long long huge = 18446744073709551615ULL
        cdef float small = 0.1
        cdef Node *where = &local
        cdef const char *text = b'text'
        cdef Py_ssize_t index
        cdef float[::1] none = None
        cdef double[:] empty = row[:0]
        for index in range(6):
            grid[index // 3][index % 3] = <int>index * count
        items = (1, 'two', [count, {'key': 2.5}])
        deleted = 1
        del deleted
        truth['Solver.visit'] = {
            'count': repr(count), 'big': repr(big), 'color': 'GREEN', 'yes': repr(<int>yes),
            'row': '<memoryview double (3,): %s>' % ', '.join([repr(row[i]) for i in range(3)]),
            'turned': '<memoryview double (3, 2) strides (8, 24): %s>' % ', '.join(
                [repr(turned[i, k]) for i in range(3) for k in range(2)]),
            'local': '{value = %d, inner = {ratio = %r, tag = %d}, numbers = [1, 2, 3, 4], label = 0x' % (
                local.value, local.inner.ratio, local.inner.tag),
            'pair': repr(pair), 'grid': repr([[grid[i][k] for k in range(3)] for i in range(2)]),
            'huge': repr(huge), 'small': '0.1', 'text': '0x', 'items': repr(items), 'none': 'None', 'empty': '<memoryview double (0,)',
            'index': '5', 'self': '<values.Solver object at 0x%x: ' % id(self)}
        result = self.callback(count, row.shape[0])
        return (result + local.value + grid[1][2] + <int>color + <int>yes + <int>pair.real + <int>small +
                where.value + len(text) + <int>(huge & 1) + len(items) + big + turned.shape[0] + none.shape[0] +
                empty.shape[0])

    def steps(self, count, *rest, key=None, **named):
        seen = []
        for value in range(count):
            seen.append(value)
            truth['Solver.steps'] = {
                'count': repr(count), 'rest': repr(rest), 'key': repr(key), 'named': repr(named),
                'seen': repr(seen), 'value': repr(value), 'self': '<values.Solver object at 0x%x: ' % id(self)}
            yield self.visit(value + 1, self.factors[0], self.factors.T, -5)

    def solve(self, count):
        total = [0]

        def inner(extra):
            bonus = extra * 2
            truth['Solver.solve.inner'] = {
                'extra': repr(extra), 'bonus': repr(bonus), 'count': repr(count), 'total': repr(total),
                'self': '<values.Solver object at 0x%x: ' % id(self)}
            for step in self.steps(count, 'first', key='word', more=1):
                total[0] += step + bonus
            return total
        truth['Solver.solve'] = {'count': repr(count), 'total': repr(total)}
        return inner(7)


def fit(callback, factors, *, depth=3):
    solver = Solver(callback, factors)
    truth['fit'] = {
        'callback': repr(callback), 'depth': repr(depth),
        'solver': "<values.Solver object at 0x%x: name='solver', level=3, factors=<memoryview double (2, 3): "
                  "1.5, 2.5, 3.5, 4.0, 5.0, 6.0>, callback=%r, node={value = 42, inner = {ratio = 0.25, "
                  "tag = 65}, numbers = [1, 2, 3, 4], label = 0x" % (id(solver), callback)}
    return solver.solve(depth)


def finish(note):
    cdef int *nothing = NULL
    truth['finish'] = {'note': repr(note), 'nothing': 'NULL'}
    truth['dereference'] = {'place': 'NULL', 'factor': '2.5', 'note': repr(note)}
    return dereference(nothing, 2.5, note)


def spin():
    """Never ends; what it holds belongs together at each moment."""
    cdef long count = 1000
    cdef long *where = &count
    while True:
        items = [count, [count], (count, str(count))]
        count += 1
        if count > 100000:
            where[0] = 1000
