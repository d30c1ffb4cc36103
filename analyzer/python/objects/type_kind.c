/* How the objects of a type are laid out, by its name and its flags. */
#include "objects_private.h"

#include <string.h>

struct kind_name {
    const char *name; /* tp_name of the C type. */
    enum py_kind kind;
};

static const struct kind_name kind_names[] = {
    {"NoneType", PY_KIND_NONE},
    {"ellipsis", PY_KIND_ELLIPSIS},
    {"NotImplementedType", PY_KIND_NOT_IMPLEMENTED},
    {"bool", PY_KIND_BOOL},
    {"float", PY_KIND_FLOAT},
    {"complex", PY_KIND_COMPLEX},
    {"bytearray", PY_KIND_BYTEARRAY},
    {"set", PY_KIND_SET},
    {"frozenset", PY_KIND_FROZENSET},
    {"frozendict", PY_KIND_DICT},
    {"slice", PY_KIND_SLICE},
    {"range", PY_KIND_RANGE},
    {"function", PY_KIND_FUNCTION},
    {"method", PY_KIND_METHOD},
    {"builtin_function_or_method", PY_KIND_BUILTIN},
    {"module", PY_KIND_MODULE},
    {"generator", PY_KIND_GENERATOR},
    {"coroutine", PY_KIND_GENERATOR},
    {"async_generator", PY_KIND_GENERATOR},
    {"cell", PY_KIND_CELL},
    {"member_descriptor", PY_KIND_MEMBER},
    {"collections.deque", PY_KIND_DEQUE},
    {"datetime.datetime", PY_KIND_DATETIME},
    {"datetime.date", PY_KIND_DATE},
    {"datetime.time", PY_KIND_TIME},
    {"datetime.timedelta", PY_KIND_TIMEDELTA},
    {"datetime.timezone", PY_KIND_TIMEZONE},
    {"mappingproxy", PY_KIND_MAPPINGPROXY},
    {"dict_keys", PY_KIND_DICTVIEW},
    {"dict_values", PY_KIND_DICTVIEW},
    {"dict_items", PY_KIND_DICTVIEW},
    {"weakref", PY_KIND_WEAKREF},
    {"weakref.ReferenceType", PY_KIND_WEAKREF},
    {"memoryview", PY_KIND_MEMORYVIEW},
    {"decimal.Decimal", PY_KIND_DECIMAL},
    {"re.Pattern", PY_KIND_PATTERN},
    {"_sre.SRE_Pattern", PY_KIND_PATTERN},
    {"numpy.ndarray", PY_KIND_NUMPY_ARRAY},
    {"numpy.generic", PY_KIND_NUMPY_SCALAR},
    {"numpy.str_", PY_KIND_NUMPY_TEXT},
    {"numpy.bytes_", PY_KIND_NUMPY_TEXT},
    {"numpy.dtype", PY_KIND_NUMPY_DTYPE},
    {"code", PY_KIND_CODE},
    {"frame", PY_KIND_FRAME},
    {"super", PY_KIND_SUPER},
    {"method-wrapper", PY_KIND_METHOD_WRAPPER},
    {"wrapper_descriptor", PY_KIND_SLOT_WRAPPER},
    {"method_descriptor", PY_KIND_METHOD_DESCRIPTOR},
    {"classmethod_descriptor", PY_KIND_METHOD_DESCRIPTOR},
    {"getset_descriptor", PY_KIND_ATTRIBUTE},
    {"staticmethod", PY_KIND_STATIC_METHOD},
    {"classmethod", PY_KIND_CLASS_METHOD},
    {"PyCapsule", PY_KIND_CAPSULE},
    {"types.GenericAlias", PY_KIND_ALIAS},
    {"types.UnionType", PY_KIND_UNION},
    {"functools.partial", PY_KIND_PARTIAL},
    {"operator.itemgetter", PY_KIND_OPERATOR},
    {"operator.attrgetter", PY_KIND_OPERATOR},
    {"operator.methodcaller", PY_KIND_OPERATOR},
    {"itertools.count", PY_KIND_COUNT},
    {"itertools.repeat", PY_KIND_REPEAT},
    {"types.SimpleNamespace", PY_KIND_NAMESPACE},
    {"collections.defaultdict", PY_KIND_DEFAULTDICT},
    {"array.array", PY_KIND_ARRAY},
    {"_struct.Struct", PY_KIND_STRUCT},
    {"_io.TextIOWrapper", PY_KIND_TEXTIO},
    {"_io.BufferedReader", PY_KIND_BUFFERED},
    {"_io.BufferedWriter", PY_KIND_BUFFERED},
    {"_io.BufferedRandom", PY_KIND_BUFFERED},
    {"_io.FileIO", PY_KIND_FILEIO},
    {"_thread.lock", PY_KIND_LOCK},
    {"_thread.RLock", PY_KIND_RLOCK},
    {"ContextVar", PY_KIND_CONTEXT_VARIABLE},
    {"_contextvars.ContextVar", PY_KIND_CONTEXT_VARIABLE},
    {"Token", PY_KIND_CONTEXT_TOKEN},
    {"_contextvars.Token", PY_KIND_CONTEXT_TOKEN},
    {"re.Match", PY_KIND_MATCH},
    {"_sre.SRE_Match", PY_KIND_MATCH},
};

/* Where there are classes without a type; some of these names mean another thing later. */
static const struct kind_name old_kind_names[] = {
    {"int", PY_KIND_PLAIN_INT},         {"instancemethod", PY_KIND_METHOD},
    {"instance", PY_KIND_OLD_INSTANCE}, {"classobj", PY_KIND_OLD_CLASS},
    {"xrange", PY_KIND_RANGE},          {"file", PY_KIND_OLD_FILE},
};

/* Cython's functions are of a type in a module that is named after its version. */
static bool is_cython_function(const char *name)
{
    const char *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    return cython_type_find(name) == CYTHON_TYPE_FUNCTION;
}

static enum py_kind find_kind(const struct kind_name *kinds, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(kinds[i].name, name))
            return kinds[i].kind;
    return PY_KIND_OBJECT;
}

enum py_kind type_kind_of_name(const struct python *python, const char *name)
{
    if (is_cython_function(name))
        return PY_KIND_CYFUNCTION;
    if (strstr(name, "." CYTHON_TYPE_CLOSURE))
        return PY_KIND_CLOSURE;
    enum py_kind kind = PY_KIND_OBJECT;
    switch (python->layout.rules->classes) {
    case PY_CLASSES_OLD_AND_NEW:
        kind = find_kind(old_kind_names, PSC_ARRAY_SIZE(old_kind_names), name);
        break;
    case PY_CLASSES_NEW:
        break;
    }
    return kind != PY_KIND_OBJECT ? kind : find_kind(kind_names, PSC_ARRAY_SIZE(kind_names), name);
}

enum py_kind type_kind_of_flags(const struct python *python, uint64_t flags)
{
    static const struct {
        uint64_t flag;
        enum py_kind kind;
    } kinds[] = {
        {PY_FLAG_INT, PY_KIND_INT},     {PY_FLAG_STR, PY_KIND_STR},
        {PY_FLAG_BYTES, PY_KIND_BYTES}, {PY_FLAG_TUPLE, PY_KIND_TUPLE},
        {PY_FLAG_LIST, PY_KIND_LIST},   {PY_FLAG_DICT, PY_KIND_DICT},
        {PY_FLAG_TYPE, PY_KIND_TYPE},   {PY_FLAG_EXCEPTION, PY_KIND_EXCEPTION},
    };
    switch (python->layout.rules->ints) {
    case PY_INTS_PLAIN_AND_LONG:
        if (flags & PY_FLAG_PLAIN_INT)
            return PY_KIND_PLAIN_INT;
        break;
    case PY_INTS_SIGNED_SIZE:
    case PY_INTS_TAG:
        break;
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(kinds); i++)
        if (flags & kinds[i].flag)
            return kinds[i].kind;
    return PY_KIND_OBJECT;
}

/* Those of the standard library that are made in Python. */
enum py_kind type_kind_of_class(const struct py_type *type)
{
    static const struct {
        const char *module;
        const char *name;
        enum py_kind kind;
    } classes[] = {
        {"uuid", "UUID", PY_KIND_UUID},
        {"pathlib", "PosixPath", PY_KIND_PATH},
        {"pathlib", "PurePosixPath", PY_KIND_PATH},
        {"pathlib._local", "PosixPath", PY_KIND_PATH},
        {"pathlib._local", "PurePosixPath", PY_KIND_PATH},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(classes); i++)
        if (!strcmp(type->module, classes[i].module) && !strcmp(type->name, classes[i].name))
            return classes[i].kind;
    return PY_KIND_OBJECT;
}
