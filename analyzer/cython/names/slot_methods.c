#include "names_private.h"

struct slot {
    const char *name;
    const char *methods;
};

/* Cython/Compiler/TypeSlots.py, with the names of 0.29. A slot stands before its prefixes. */
static const struct slot slots[] = {
    {"getprop", ""},
    {"setprop", ""},
    {"tp_new__initialisation", "__new__"},
    {"tp_new_vectorcall", "__new__"},
    {"tp_new", "__new__/__cinit__"},
    {"tp_vectorcall", "__new__"},
    {"tp_init", "__init__"},
    {"tp_dealloc", "__dealloc__"},
    {"tp_finalize", "__del__"},
    {"tp_traverse", "tp_traverse"},
    {"tp_clear", "tp_clear"},
    {"tp_call", "__call__"},
    {"tp_repr", "__repr__"},
    {"tp_str", "__str__"},
    {"tp_hash", "__hash__"},
    {"tp_iternext", "__next__"},
    {"tp_iter", "__iter__"},
    {"tp_richcompare", "__richcmp__"},
    {"tp_getattro", "__getattr__"},
    {"tp_setattro", "__setattr__/__delattr__"},
    {"tp_descr_get", "__get__"},
    {"tp_descr_set", "__set__/__delete__"},
    {"sq_item", "__getitem__ (int)"},
    {"sq_ass_item", "__setitem__/__delitem__ (int)"},
    {"sq_length", "__len__"},
    {"sq_contains", "__contains__"},
    {"sq_slice", "__getslice__"},
    {"sq_ass_slice", "__setslice__/__delslice__"},
    {"mp_subscript", "__getitem__"},
    {"mp_ass_subscript", "__setitem__/__delitem__"},
    {"mp_length", "__len__"},
    {"am_await", "__await__"},
    {"am_aiter", "__aiter__"},
    {"am_anext", "__anext__"},
    {"bf_getbuffer", "__getbuffer__"},
    {"bf_releasebuffer", "__releasebuffer__"},
    {"nb_add", "__add__"},
    {"nb_subtract", "__sub__"},
    {"nb_multiply", "__mul__"},
    {"nb_matrix_multiply", "__matmul__"},
    {"nb_remainder", "__mod__"},
    {"nb_divmod", "__divmod__"},
    {"nb_divide", "__div__"},
    {"nb_power", "__pow__"},
    {"nb_negative", "__neg__"},
    {"nb_positive", "__pos__"},
    {"nb_absolute", "__abs__"},
    {"nb_bool", "__bool__"},
    {"nb_nonzero", "__nonzero__"},
    {"nb_invert", "__invert__"},
    {"nb_lshift", "__lshift__"},
    {"nb_rshift", "__rshift__"},
    {"nb_and", "__and__"},
    {"nb_xor", "__xor__"},
    {"nb_or", "__or__"},
    {"nb_int", "__int__"},
    {"nb_long", "__long__"},
    {"nb_float", "__float__"},
    {"nb_index", "__index__"},
    {"nb_floor_divide", "__floordiv__"},
    {"nb_true_divide", "__truediv__"},
    {"nb_inplace_add", "__iadd__"},
    {"nb_inplace_subtract", "__isub__"},
    {"nb_inplace_multiply", "__imul__"},
    {"nb_inplace_matrix_multiply", "__imatmul__"},
    {"nb_inplace_remainder", "__imod__"},
    {"nb_inplace_power", "__ipow__"},
    {"nb_inplace_lshift", "__ilshift__"},
    {"nb_inplace_rshift", "__irshift__"},
    {"nb_inplace_and", "__iand__"},
    {"nb_inplace_xor", "__ixor__"},
    {"nb_inplace_or", "__ior__"},
    {"nb_inplace_floor_divide", "__ifloordiv__"},
    {"nb_inplace_true_divide", "__itruediv__"},
};

/** Drops the slot's name; NULL when it is none. */
static const struct slot *skip_slot(struct slice *text)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(slots); i++) {
        struct slice rest = *text;
        if (slice_skip(&rest, slots[i].name) && slice_skip(&rest, "_") && rest.size) {
            *text = rest;
            return &slots[i];
        }
    }
    return NULL;
}

const char *cython_slot_skip(struct slice *name)
{
    struct slice text = *name;
    const struct slot *slot = slice_skip(&text, "__pyx_") ? skip_slot(&text) : NULL;
    if (!slot)
        return NULL;
    *name = text;
    return slot->methods;
}

const char *cython_slot_methods(const char *slot)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(slots); i++)
        if (strcmp(slots[i].name, slot) == 0)
            return slots[i].methods;
    return NULL;
}

bool cython_slot_is_method(const char *methods)
{
    return !*methods || *methods == '_';
}

bool cython_is_slot(struct slice name)
{
    return (slice_skip(&name, "__pyx_U") || slice_skip(&name, "__pyx_")) && skip_slot(&name);
}

/** The next of "__set__/__delete__ (int)"; empty after the last. */
static struct slice next_method(struct slice *methods)
{
    size_t size = 0;
    while (size < methods->size && methods->data[size] != '/' && methods->data[size] != ' ')
        size++;
    struct slice method = {methods->data, size};
    bool more = size < methods->size && methods->data[size] == '/';
    *methods = slice_from(*methods, more ? size + 1 : methods->size);
    return method;
}

/** The last name of a function, whose class is `ret_class`. */
static struct slice split_function(const char *function, struct slice *ret_class)
{
    const char *dot = strrchr(function, '.');
    *ret_class = (struct slice){function, dot ? (size_t)(dot - function) : 0};
    return slice_of(dot ? dot + 1 : function);
}

/* Slots that go on to methods of another name. */
static const struct {
    const char *slot;
    const char *methods;
} further_methods[] = {
    {"__new__", "__cinit__/__init__"},
    {"__getattr__", "__getattribute__"},
    {"__richcmp__", "__eq__/__ne__/__lt__/__le__/__gt__/__ge__"},
};

static bool has_method(struct slice methods, struct slice wanted)
{
    while (methods.size) {
        struct slice method = next_method(&methods);
        if (method.size == wanted.size && memcmp(method.data, wanted.data, wanted.size) == 0)
            return true;
    }
    return false;
}

static bool slot_reaches(struct slice methods, struct slice wanted)
{
    if (has_method(methods, wanted))
        return true;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(further_methods); i++) {
        if (has_method(methods, slice_of(further_methods[i].slot)) &&
            has_method(slice_of(further_methods[i].methods), wanted))
            return true;
    }
    /* __radd__ behind the slot of __add__. */
    struct slice left = methods;
    return slice_starts(wanted, "__r") && slice_skip(&left, "__") && left.size == wanted.size - 3 &&
           memcmp(left.data, wanted.data + 3, left.size) == 0;
}

bool cython_slot_reaches(const char *methods, const char *method)
{
    return slot_reaches(slice_of(methods), slice_of(method));
}

bool cython_slot_calls(const struct cython_name *slot, const struct cython_name *inner)
{
    struct slice slot_class;
    struct slice inner_class;
    if (slot->kind != CYTHON_SLOT || !slot->function || !inner->function)
        return false;
    struct slice methods = split_function(slot->function, &slot_class);
    struct slice wanted = split_function(inner->function, &inner_class);
    bool accessor = slice_equals(wanted, "__get__") || slice_equals(wanted, "__set__") ||
                    slice_equals(wanted, "__del__");
    if (accessor && slice_equals(inner_class, slot->function))
        return true;
    if (slot_class.size != inner_class.size ||
        memcmp(slot_class.data, inner_class.data, slot_class.size) != 0)
        return false;
    while (wanted.size) {
        if (slot_reaches(methods, next_method(&wanted)))
            return true;
    }
    return false;
}

/* Methods that one slot chooses among, without those of further_methods. */
static const char *const shared_slots[] = {
    "__eq__/__ne__/__lt__/__le__/__gt__/__ge__",
    "__setitem__/__delitem__",
    "__setattr__/__delattr__",
    "__set__/__delete__",
    "__getattr__/__getattribute__",
};

static bool share_slot(struct slice left, struct slice right)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(shared_slots); i++) {
        struct slice methods = slice_of(shared_slots[i]);
        if (has_method(methods, left) && has_method(methods, right))
            return true;
    }
    return slot_reaches(left, right) || slot_reaches(right, left);
}

bool cython_slot_shares(const struct cython_name *slot, const struct cython_name *inner)
{
    struct slice slot_class;
    struct slice inner_class;
    if (slot->kind != CYTHON_SLOT || !slot->function || !inner->function)
        return false;
    struct slice method = split_function(slot->function, &slot_class);
    struct slice other = split_function(inner->function, &inner_class);
    return slot_class.size == inner_class.size &&
           memcmp(slot_class.data, inner_class.data, slot_class.size) == 0 &&
           share_slot(method, other);
}
