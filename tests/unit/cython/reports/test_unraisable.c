/* The name of a function whose errors go to sys.unraisablehook. */
#include "machine_code.h"

#define START (CODE_AT + 0x100u)

/** lea name(%rip),%rdi; call BODY_AT, which stands for __Pyx_WriteUnraisable(). */
static void add_unraisable(struct code *code, uint64_t name)
{
    ADD(code, 0x48, 0x8d, 0x3d);
    add_relative(code, name);
    ADD(code, 0xe8);
    add_relative(code, BODY_AT);
}

/** "" when there is none. */
static void find(const struct code *code, char ret[16])
{
    struct code helper = {.size = 0};
    uint8_t *file = malloc(FILE_SIZE);
    assert_non_null(file);
    machine_file_make(file, code->bytes, code->size);
    ADD(&helper, 0xff, 0x15); /* call *slot(%rip) */
    uint32_t distance = UNRAISABLE_AT - (BODY_AT + 6);
    add(&helper, &distance, sizeof(distance));
    ADD(&helper, 0xc3);
    machine_file_put_body(file, helper.bytes, helper.size);
    struct reports *reports = reports_create(file, FILE_SIZE);
    assert_non_null(reports);
    const char *name = reports_find_unraisable_name(
        &reports->flow, code_find_function(&reports->flow.image, START));
    strcpy(ret, name ? name : "");
    reports_destroy(reports);
    free(file);
}

static void test_name(void **state)
{
    (void)state;
    char name[16];
    struct code code = {.size = 0};
    add_call(&code);
    add_test(&code, 12);
    add_unraisable(&code, NAME_F_AT);
    add_return(&code);
    find(&code, name);
    assert_string_equal(name, "pkg.mod.f");
}

static void test_other_text(void **state)
{
    (void)state;
    char name[16];
    struct code code = {.size = 0};
    add_unraisable(&code, FILE_AT);
    add_return(&code);
    find(&code, name);
    assert_string_equal(name, "");
}

/** Behind it something is done: it is that of a function which was inlined. */
static void test_inlined(void **state)
{
    (void)state;
    char name[16];
    struct code code = {.size = 0};
    add_unraisable(&code, NAME_F_AT);
    add_call(&code);
    add_return(&code);
    find(&code, name);
    assert_string_equal(name, "");
}

static void test_two_names(void **state)
{
    (void)state;
    char name[16];
    struct code code = {.size = 0};
    add_test(&code, 15);
    add_unraisable(&code, NAME_F_AT);
    add_return(&code);
    add_unraisable(&code, NAME_G_AT);
    add_return(&code);
    find(&code, name);
    assert_string_equal(name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_other_text),
        cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_two_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
