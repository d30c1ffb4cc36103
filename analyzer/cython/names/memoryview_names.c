/* Names of View.MemoryView, which Cython compiles into modules: Cython/Utility/MemoryView.pyx. */
#include "names_private.h"

static const struct {
    const char *prefix;
    const char *name;
} view_classes[] = {
    {"__pyx_array_", "array"},
    {"__pyx_memoryview_", "memoryview"},
    {"__pyx_memoryviewslice_", "_memoryviewslice"},
    {"__pyx_MemviewEnum_", "Enum"},
};

const char *cython_view_class_skip(struct slice *name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(view_classes); i++) {
        struct slice rest = *name;
        if (slice_skip(&rest, view_classes[i].prefix) && rest.size) {
            *name = rest;
            return view_classes[i].name;
        }
    }
    return NULL;
}

bool cython_is_view_type(struct slice name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(view_classes); i++) {
        if (slice_equals(name, view_classes[i].name))
            return true;
    }
    return false;
}

static const struct {
    const char *name;
    const char *function;
} free_functions[] = {
    {"__pyx_align_pointer", "align_pointer"},
    {"__pyx_fill_contig_strides_array", "fill_contig_strides_array"},
    {"__pyx_get_best_slice_order", "get_best_order"},
    {"__pyx_memslice_transpose", "transpose_memslice"},
    {"__pyx_memview_slice", "memview_slice"},
    {"__pyx_pybuffer_index", "pybuffer_index"},
    {"__pyx_unpickle_Enum__set_state", "__pyx_unpickle_Enum__set_state"},
};

const char *cython_view_free_function(struct slice name)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(free_functions); i++) {
        if (slice_equals(name, free_functions[i].name))
            return free_functions[i].function;
    }
    return NULL;
}

/* Functions whose C name has a class's prefix but that stand outside of the class. */
static const struct {
    const char *rest;
    const char *function;
} view_functions[] = {
    {"allocate_buffer", "_allocate_buffer"},
    {"broadcast_leading", "broadcast_leading"},
    {"check", "memoryview_check"},
    {"copy_contents", "memoryview_copy_contents"},
    {"copy_data_to_temp", "copy_data_to_temp"},
    {"copy_new_contig", "copy_new_contig"},
    {"copy_object", "memoryview_copy"},
    {"copy_object_from_slice", "memoryview_copy_from_slice"},
    {"err", "_err"},
    {"err_IndexError", "_err_IndexError"},
    {"err_ValueError", "_err_ValueError"},
    {"err_dim", "_err_dim"},
    {"err_extents", "_err_extents"},
    {"err_invalid_index", "_err_invalid_index"},
    {"err_no_memory", "_err_no_memory"},
    {"fromslice", "memoryview_fromslice"},
    {"get_slice_from_memoryview", "get_slice_from_memview"},
    {"refcount_copying", "refcount_copying"},
    {"refcount_objects_in_slice", "refcount_objects_in_slice"},
    {"refcount_objects_in_slice_with_gil", "refcount_objects_in_slice_with_gil"},
    {"slice_assign_scalar", "slice_assign_scalar"},
    {"slice_copy", "slice_copy"},
    {"slice_get_size", "slice_get_size"},
    {"slice_memviewslice", "slice_memviewslice"},
    {"_slice_assign_scalar", "_slice_assign_scalar"},
};

const char *cython_view_function(const char *class_name, struct slice rest, struct arena *arena)
{
    if (slice_equals(rest, "new"))
        return arena_printf(arena, "%s_cwrapper", class_name);
    if (slice_equals(rest, "getbuffer"))
        return arena_printf(arena, "%s.__getbuffer__", class_name);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(view_functions); i++) {
        if (slice_equals(rest, view_functions[i].rest))
            return view_functions[i].function;
    }
    return arena_printf(arena, "%s.%.*s", class_name, (int)rest.size, rest.data);
}
