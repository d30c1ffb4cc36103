/* Functions that tables of types and calls of exports name. */
#include "machine_code.h"

static struct reports *make(const struct code *code, uint8_t *file)
{
    static const char attribute[] = "__pyx_capi__";
    machine_file_make(file, code->bytes, code->size);
    memcpy(file + FILE_SIZE - sizeof(attribute), attribute, sizeof(attribute));
    struct reports *reports = reports_create(file, FILE_SIZE);
    assert_non_null(reports);
    return reports;
}

/** A slot's function has its type's name, whatever it reports; but a method of it may be it. */
static void test_slot(void **state)
{
    (void)state;
    static uint8_t file[FILE_SIZE];
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct reports *reports = make(&code, file);
    const struct table_entry *entry = reports_find_entry(reports, CODE_AT + 0x100);
    assert_non_null(entry);
    assert_int_equal(entry->kind, ENTRY_SLOT);
    assert_string_equal(entry->type, "pkg.mod.Cls");
    struct arena *arena = arena_create();
    struct cython_code levels[4];
    struct code_question question = {reports, "pkg.mod", arena};
    size_t count = cython_functions_at(&question, call - 1, levels, 4);
    assert_int_equal(count, 2);
    assert_string_equal(levels[0].function, "f");
    assert_int_equal(levels[0].line, 10);
    assert_string_equal(levels[1].function, "Cls.__repr__");
    assert_int_equal(levels[1].kind, CYTHON_SLOT);
    arena_destroy(arena);
    reports_destroy(reports);
}

static void add_load(struct code *code, uint8_t which, uint64_t to)
{
    ADD(code, 0x48, 0x8d, which);
    add_relative(code, to);
}

static void take_export(void *context, struct table_entry entry)
{
    *(struct table_entry *)context = entry;
}

/** __Pyx_ExportFunction("g", function, "int (int)") */
static void test_export(void **state)
{
    (void)state;
    static uint8_t file[FILE_SIZE];
    struct code code = {.size = 0};
    add_load(&code, 0x15, CALL_AT);
    add_load(&code, 0x35, CODE_AT + 0x100);
    add_load(&code, 0x3d, PLAIN_AT);
    add_call(&code);
    struct table_entry found = {.name = NULL};
    struct reports *reports = make(&code, file);
    reports_each_export(&reports->flow.image, &found, take_export);
    assert_null(found.name); /* The call is none of an address. */
    reports_destroy(reports);
    code.size -= 2;
    ADD(&code, 0x48, 0x83, 0x00, 0x05); /* addq $5,(%rax): something else that is due */
    ADD(&code, 0xe8);
    add_relative(&code, CODE_AT);
    reports = make(&code, file);
    reports_each_export(&reports->flow.image, &found, take_export);
    assert_string_equal(found.name, "g");
    assert_int_equal(found.function, CODE_AT + 0x100);
    assert_int_equal(found.kind, ENTRY_EXPORT);
    found.name = NULL;
    file[FILE_SIZE - 4] = 'x';
    reports_each_export(&reports->flow.image, &found, take_export);
    assert_null(found.name); /* Nothing of this module is for others. */
    reports_destroy(reports);
}

static void check_traceback(const char *name, const char *module, const char *file,
                            const char *expected)
{
    struct arena *arena = arena_create();
    assert_string_equal(cython_traceback_function(name, module, file, arena), expected);
    arena_destroy(arena);
}

/** A function of another module's .pxd was inlined. */
static void test_name_of_another_module(void **state)
{
    (void)state;
    check_traceback("pkg.mod.Cls.f", "pkg.mod", "pkg/mod.pyx", "Cls.f");
    check_traceback("pkg.other.Cls.f", "pkg.mod", "pkg/buffer.pxd", "Cls.f");
    check_traceback("pkg.other.f", "pkg.mod", "src/pkg/buffer.pxd", "f");
    check_traceback("numpy.f", "pkg.mod", "/usr/lib/numpy/__init__.pxd", "f");
    check_traceback("strange.other.f", "pkg.mod", "pkg/buffer.pxd", "strange.other.f");
    check_traceback("pkg.f", "pkg.mod", "pkg/buffer.pxd", "pkg.f");
    check_traceback("other.f", "pkg.mod", "other.pxd", "f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_name_of_another_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
