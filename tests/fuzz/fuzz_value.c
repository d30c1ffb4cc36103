/*
 * Values, locals and exceptions from hostile memory: types that are right, and behind them
 * objects whose every word the input chooses: a type, a place among the objects, a number.
 */
#include "python_memory.h"

#include "types.h"
#include "values.h"
#include "lookup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OBJECT_WORDS = 512, TEXT_LIMIT = VALUE_TEXT_LIMIT + 8 };

static const struct {
    const char *name;
    uint64_t flags;
} kinds[] = {
    {"int", PY_FLAG_INT},
    {"str", PY_FLAG_STR},
    {"bytes", PY_FLAG_BYTES},
    {"tuple", PY_FLAG_TUPLE},
    {"list", PY_FLAG_LIST},
    {"dict", PY_FLAG_DICT},
    {"type", PY_FLAG_TYPE},
    {"KeyError", PY_FLAG_EXCEPTION},
    {"bool", PY_FLAG_INT},
    {"float", 0},
    {"complex", 0},
    {"set", 0},
    {"frozenset", 0},
    {"collections.deque", 0},
    {"slice", 0},
    {"range", 0},
    {"function", 0},
    {"method", 0},
    {"module", 0},
    {"generator", 0},
    {"bytearray", 0},
    {"builtin_function_or_method", 0},
    {"datetime.datetime", 0},
    {"datetime.timezone", 0},
    {"numpy.ndarray", 0},
    {"numpy.float64", 0},
    {"mappingproxy", 0},
    {"dict_keys", 0},
    {"dict_items", 0},
    {"weakref", 0},
    {"memoryview", 0},
    {"decimal.Decimal", 0},
    {"_cython_3_0.cython_function_or_method", 0},
    {"pkg.__pyx_scope_struct_1_f", 0},
    {"Row", PY_FLAG_LIST | PY_FLAG_HEAPTYPE | PY_FLAG_MANAGED_DICT | PY_FLAG_INLINE_VALUES},
    {"Text", PY_FLAG_STR | PY_FLAG_HEAPTYPE | PY_FLAG_MANAGED_DICT | PY_FLAG_INLINE_VALUES},
    {"thing", 0},
    {"int", PY_FLAG_PLAIN_INT},
    {"instance", 0},
    {"classobj", 0},
    {"xrange", 0},
    {"instancemethod", 0},
    {"member_descriptor", 0},
    {"code", 0},
    {"frame", 0},
    {"Point", PY_FLAG_HEAPTYPE | PY_FLAG_MANAGED_DICT | PY_FLAG_INLINE_VALUES},
    {"OSError", PY_FLAG_EXCEPTION},
    {"collections.OrderedDict", PY_FLAG_DICT},
    {"re.Pattern", 0},
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

/* Two bytes of input make a word. */
static uint64_t make_word(const uint8_t *input, const psc_addr *types, psc_addr objects)
{
    switch (input[0] & 7) {
    case 0:
        return input[1];
    case 1:
        return types[input[1] % KIND_COUNT];
    case 2:
    case 3:
    case 4:
        return objects + 16u * input[1];
    case 5:
        return UINT64_C(1) << (input[1] & 63);
    case 6:
        return (uint64_t)(int64_t)(int8_t)input[1];
    default:
        return (uint64_t)input[1] << 3 | input[0] >> 3;
    }
}

static void check_value(struct memory *memory, psc_addr object)
{
    struct text text = {0};
    value_add(&memory->python, object, &text);
    if (text.failed || !text.size || text.size > TEXT_LIMIT)
        abort();
    text_deinit(&text);
}

static bool take_none(void *context, psc_addr name)
{
    size_t *count = context;
    (void)name;
    return ++*count < 1000;
}

static void check_lookup(struct memory *memory, psc_addr object)
{
    static const struct value_step steps[] = {{VALUE_STEP_INDEX, "-1", -1, 1},
                                              {VALUE_STEP_INDEX, "3", 3, 1},
                                              {VALUE_STEP_KEY, "a", 0, 1}};
    struct psc_error err = {0};
    psc_addr found;
    size_t count = 0;
    if (lookup_attribute(&memory->python, object, "__a", &found, &err) != PSC_OK && !*err.message)
        abort();
    for (size_t i = 0; i < PSC_ARRAY_SIZE(steps); i++) {
        err.message[0] = '\0';
        if (lookup_item(&memory->python, object, &steps[i], &found, &err) != PSC_OK &&
            !*err.message)
            abort();
    }
    lookup_list_attributes(&memory->python, object, take_none, &count);
}

static void check_thread(struct memory *memory, psc_addr tstate)
{
    struct python_thread thread = {.tstate = tstate};
    struct python_exception *exceptions;
    size_t count;
    if (python_read_exceptions(&memory->python, &thread, &exceptions, &count) != PSC_OK)
        abort();
    for (size_t i = 0; i < count; i++)
        if (!exceptions[i].type)
            abort();
}

static void check_frame(struct memory *memory, psc_addr address, psc_addr code)
{
    struct python_frame frame = {.address = address, .code = code};
    struct python_local *locals;
    size_t count;
    if (python_read_locals(&memory->python, &frame, &locals, &count) != PSC_OK)
        abort();
    for (size_t i = 0; i < count; i++)
        if (!locals[i].name || !locals[i].value)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {0x030600f0, 0x030800f0, 0x030a00f0,
                                        0x030b00f0, 0x030c00f0, 0x020712f0};
    psc_addr types[KIND_COUNT];
    if (size < 2)
        return 0;
    struct memory *memory = memory_create(versions[data[0] % PSC_ARRAY_SIZE(versions)]);
    memory->peeks = data[0] & 0x80;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        types[i] = memory_type(memory, kinds[i].flags);
        memory_name_type(memory, types[i], kinds[i].name);
        memory_put_field(memory, types[i], PY_TYPE_BASICSIZE, 64);
    }
    memory->python.types.code = types[KIND_COUNT - 4];
    memory->python.types.member = types[KIND_COUNT - 5];
    memory->python.types.class = types[KIND_COUNT - 8];
    memory->python.types.instance = types[KIND_COUNT - 9];
    (void)budget_spend(&memory->python, BUDGET_WORK - (1u << 20));
    psc_addr objects = memory_reserve(memory, 8 * OBJECT_WORDS);
    for (size_t i = 0; i < OBJECT_WORDS && 3 + 2 * i < size; i++)
        memory_put(memory, objects + 8 * i, make_word(data + 1 + 2 * i, types, objects), 8);
    /* Every fourth object has a type at any rate. */
    for (size_t i = 0; i < OBJECT_WORDS; i += 16)
        memory_put_field(memory, objects + 8 * i, PY_OBJECT_TYPE,
                         types[(i / 16 + data[1]) % KIND_COUNT]);
    for (size_t i = 0; i < OBJECT_WORDS; i += 16)
        check_value(memory, objects + 8 * i);
    for (size_t i = 0; i < OBJECT_WORDS; i += 64)
        check_lookup(memory, objects + 8 * i);
    check_thread(memory, objects);
    psc_addr code =
        objects + 8 * 16 * ((KIND_COUNT - 4 + KIND_COUNT - data[1] % KIND_COUNT) % KIND_COUNT);
    check_frame(memory, objects + 256, code);
    memory_destroy(memory);
    return 0;
}
