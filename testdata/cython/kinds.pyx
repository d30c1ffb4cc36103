# cython: language_level=3, binding=False
# Variables of C++ and of Cython's rarer types, and what they hold, in `truth`: the program says it.
# Made into C++ by: cython3 --cplus kinds.pyx
from cython cimport view
from libcpp cimport bool as cbool
from libcpp.map cimport map as cmap
from libcpp.memory cimport shared_ptr, make_shared
from libcpp.pair cimport pair
from libcpp.set cimport set as cset
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

truth = {}

ctypedef fused number:
    int
    double

ctypedef int (*callback_type)(int)

cdef struct Record:
    int key
    double weight
    char letters[4]


cdef struct Entry:
    int key
    double weight


cdef size_t (*keep)(vector[Record] *)


cdef size_t count(vector[Record] *records):
    return records.size()


keep = count


cdef int twice(int value):
    return 2 * value


cdef class Grid:
    """A buffer of rows that lie anywhere."""
    cdef int *rows[3]
    cdef int data[3][4]
    cdef Py_ssize_t shape[2]
    cdef Py_ssize_t strides[2]
    cdef Py_ssize_t suboffsets[2]

    def __cinit__(self):
        for i in range(3):
            self.rows[i] = self.data[2 - i]
            for j in range(4):
                self.data[2 - i][j] = 10 * i + j
        self.shape[0], self.shape[1] = 3, 4
        self.strides[0], self.strides[1] = sizeof(int *), sizeof(int)
        self.suboffsets[0], self.suboffsets[1] = 0, -1

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self.rows
        buffer.obj = self
        buffer.len = 48
        buffer.itemsize = sizeof(int)
        buffer.readonly = 0
        buffer.ndim = 2
        buffer.format = 'i'
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = self.suboffsets
        buffer.internal = NULL

    def __releasebuffer__(self, Py_buffer *buffer):
        pass


cdef class Holder:
    cdef vector[int] numbers
    cdef cmap[string, int] named
    cdef readonly int level

    def __init__(self):
        self.numbers = [4, 5]
        self.named = <object>{b'key': 1}
        self.level = 2

    def rows(self, zulu, alpha=2, *mike, kilo=None):
        for step in range(2):
            truth['Holder.rows'] = {'zulu': repr(zulu), 'alpha': repr(alpha), 'mike': repr(mike), 'kilo': repr(kilo),
                                    'step': repr(step)}
            yield containers(self, b'bytes', 'text')


def containers(Holder holder, string given, text):
    cdef vector[double] none
    cdef vector[vector[int]] nested = [[1], [2, 3]]
    cdef vector[string] strings = [b'a', b'a text that is longer than sixteen']
    cdef vector[cbool] bits = [True, False, True]
    cdef vector[Record] records
    cdef cmap[string, double] weights = <object>{b'one': 1.5, b'two': 2.5}
    cdef unordered_map[int, string] hashed = <object>{7: b'seven'}
    cdef cset[int] ordered = {3, 1, 2}
    cdef pair[int, string] couple = (1, b'one')
    cdef shared_ptr[int] shared = make_shared[int](12)
    cdef vector[int] *where = &holder.numbers
    cdef vector[Record] *kept = &records
    records.resize(1)
    records[0].key, records[0].weight = 5, 0.25
    records[0].letters[0], records[0].letters[1] = 97, 98
    truth['containers'] = {
        'holder': "<kinds.Holder object at 0x%x: numbers=[4, 5], named={\"key\": 1}, level=2>" % id(holder),
        'given': '"bytes"', 'text': repr(text), 'none': repr(none), 'nested': repr(nested),
        'strings': '["a", "a text that is longer than sixteen"]', 'bits': repr(bits),
        'records': '[{key = 5, weight = 0.25, letters = "ab"}]', 'weights': '{"one": 1.5, "two": 2.5}',
        'hashed': '{7: "seven"}', 'ordered': '{1, 2, 3}', 'couple': '(1, "one")', 'shared': '@0x: 12',
        'where': '0x [4, 5]'}
    return kinds(2.5) + <int>(none.size() + where.size() + <int>shared.get()[0] + given.size() + keep(kept))


def kinds(number value):
    cdef number doubled = value * 2
    cdef (int, double) both = (3, 4.5)
    cdef callback_type function = twice
    cdef Py_UCS4 letter = u'\xe9'
    cdef float complex small = 1.5 - 2j
    cdef double complex wide = 2.5j
    cdef signed char negative = -5
    cdef unsigned char positive = 200
    cdef long double extended = 3.125
    cdef unsigned long long huge = 18446744073709551615ULL
    truth['kinds'] = {
        'value': repr(value), 'doubled': repr(doubled), 'both': repr(both), 'function': '0x <twice>',
        'letter': repr(letter), 'small': '(1.5-2j)', 'wide': '2.5j', 'negative': '-5', 'positive': '200',
        'extended': '3.125', 'huge': '18446744073709551615'}
    return views(Grid()) + function(<int>both[0]) + <int>(letter + small.real + wide.imag + negative + positive +
                                                          extended + doubled + <int>(huge & 1))


def views(grid):
    cdef int[::view.indirect, :] whole = grid
    cdef int[:] row = whole[1]
    cdef int[::view.indirect] column = whole[:, 2]
    cdef Entry raw[2]
    cdef Entry[:] records = <Entry[:2]>raw
    cdef int[:] nothing = None
    for i in range(2):
        records[i].key, records[i].weight = i, i / 2.0
    truth['views'] = {
        'whole': '<memoryview int (3, 4) indirect: %s>' % ', '.join([repr(whole[i, k]) for i in range(3) for k in range(4)]),
        'row': '<memoryview int (4,): %s>' % ', '.join([repr(row[i]) for i in range(4)]),
        'column': '<memoryview int (3,) indirect: %s>' % ', '.join([repr(column[i]) for i in range(3)]),
        'records': '<memoryview Entry (2,): {key = 0, weight = 0.0}, {key = 1, weight = 0.5}>',
        'nothing': 'None'}
    return die(1.25, 2.5, NULL) + whole[0, 0] + row[0] + column[0] + records.shape[0] + nothing.shape[0]


cdef int die(double wide, float narrow, int *place) except -1:
    import json
    truth['die'] = {'wide': repr(wide), 'narrow': repr(narrow), 'place': 'NULL'}
    with open('truth.json', 'w') as file:
        json.dump(truth, file)
    return crash(wide, narrow, place)


cdef int crash(double wide, float narrow, int *place) nogil except -1:
    cdef double sum = wide + narrow
    place[0] = <int>sum
    return <int>(sum * wide)
