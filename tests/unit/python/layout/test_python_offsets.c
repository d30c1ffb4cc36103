/* _Py_DebugOffsets is foreign input: every offset that is taken has to be possible. */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

#define STRUCT_SIZE 8192u

static const uint32_t versions[] = {0x030d00f0, 0x030e08f0, 0x030f00f0};

static void put(uint8_t *bytes, size_t word, uint64_t value)
{
    memcpy(bytes + 8 * word, &value, 8);
}

/* Every struct is large, every offset small. */
static size_t make_offsets(uint32_t hex, uint8_t *bytes)
{
    const struct py_rules *rules = layout_find_rules(hex);
    struct py_debug_offsets head;
    assert_non_null(rules);
    memset(bytes, 0, PY_DEBUG_OFFSETS_MAX);
    memcpy(bytes, PY_DEBUG_COOKIE, 8);
    put(bytes, 1, hex);
    for (size_t word = 3; word < PY_DEBUG_OFFSETS_MAX / 8; word++)
        put(bytes, word, STRUCT_SIZE);
    for (int field = 0; field < PY_FIELD_COUNT; field++) {
        size_t word = layout_field_slot(rules, (enum py_field)field);
        if (word && field != PY_RUNTIME_SIZE)
            put(bytes, word, 8);
    }
    put(bytes, layout_field_slot(rules, PY_OBJECT_SIZE), 16);
    assert_int_equal(parse_debug_offsets_head(bytes, PY_DEBUG_OFFSETS_MAX, &head), PSC_OK);
    return head.size;
}

static void test_sizes_are_those_of_the_headers(void **state)
{
    static const size_t sizes[] = {584, 760, 888};
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(versions); i++)
        assert_int_equal(make_offsets(versions[i], bytes), sizes[i]);
}

static void test_every_offset_is_checked(void **state)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_layout layout;
    struct psc_error err;
    size_t checked = 0;
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(versions); i++) {
        const struct py_rules *rules = layout_find_rules(versions[i]);
        for (int field = 0; field < PY_FIELD_COUNT; field++) {
            size_t size = make_offsets(versions[i], bytes);
            size_t word = layout_field_slot(rules, (enum py_field)field);
            assert_int_equal(parse_debug_offsets(bytes, size, &layout, &err), PSC_OK);
            if (!word || field == PY_RUNTIME_SIZE || field == PY_OBJECT_SIZE)
                continue;
            put(bytes, word, STRUCT_SIZE + 1 - layout_field_width((enum py_field)field));
            assert_int_equal(parse_debug_offsets(bytes, size, &layout, &err), PSC_ERR_FORMAT);
            put(bytes, word, UINT64_MAX - 3);
            assert_int_equal(parse_debug_offsets(bytes, size, &layout, &err), PSC_ERR_FORMAT);
            checked++;
        }
    }
    assert_true(checked > 90);
}

static void test_a_cut_struct_is_refused(void **state)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_layout layout;
    struct psc_error err;
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(versions); i++) {
        size_t size = make_offsets(versions[i], bytes);
        for (size_t cut = 0; cut < size; cut += 8)
            assert_int_equal(parse_debug_offsets(bytes, cut, &layout, &err), PSC_ERR_FORMAT);
    }
}

static void check_unsupported(uint32_t hex, const char *name)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_layout layout;
    struct psc_error err;
    make_offsets(versions[0], bytes);
    put(bytes, 1, hex);
    assert_int_equal(parse_debug_offsets(bytes, sizeof(bytes), &layout, &err), PSC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, name));
}

static void test_unknown_versions_are_named(void **state)
{
    (void)state;
    check_unsupported(0x031000f0, "3.16.0");
    check_unsupported(0x030c01f0, "3.12.1");
    check_unsupported(0x030f00b4, "3.15.0b4");
    check_unsupported(0x040000a1, "4.0.0a1");
}

static void test_free_threaded_objects_have_a_longer_header(void **state)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_layout plain;
    struct py_layout moved;
    struct psc_error err;
    (void)state;
    size_t size = make_offsets(versions[0], bytes);
    assert_int_equal(parse_debug_offsets(bytes, size, &plain, &err), PSC_OK);
    const struct py_rules *rules = layout_find_rules(versions[0]);
    put(bytes, 2, 1);
    put(bytes, layout_field_slot(rules, PY_OBJECT_SIZE), 32);
    put(bytes, layout_field_slot(rules, PY_OBJECT_TYPE), 24);
    assert_int_equal(parse_debug_offsets(bytes, size, &moved, &err), PSC_OK);
    assert_int_equal(moved.offset[PY_FUNC_CODE], plain.offset[PY_FUNC_CODE] + 16);
    assert_int_equal(moved.offset[PY_KEYS_KIND], plain.offset[PY_KEYS_KIND]);
    assert_int_equal(moved.offset[PY_OBJECT_TYPE], 24);
    assert_int_equal(moved.managed_dict, -8);
    put(bytes, layout_field_slot(rules, PY_OBJECT_SIZE), 24);
    assert_int_equal(parse_debug_offsets(bytes, size, &moved, &err), PSC_ERR_FORMAT);
}

static void test_the_gil_members_lie_in_the_gil(void **state)
{
    uint8_t bytes[PY_DEBUG_OFFSETS_MAX];
    struct py_layout layout;
    struct psc_error err;
    (void)state;
    size_t size = make_offsets(versions[0], bytes);
    put(bytes, layout_field_slot(layout_find_rules(versions[0]), PY_INTERP_GIL), 64);
    assert_int_equal(parse_debug_offsets(bytes, size, &layout, &err), PSC_ERR_FORMAT);
}

static void test_trace_refs_move_objects_only(void **state)
{
    const struct py_rules *rules = layout_find_rules(0x030900f0);
    struct py_layout plain;
    struct py_layout moved;
    (void)state;
    assert_int_equal(layout_from_table(rules, 16, 0, &plain), PSC_OK);
    assert_int_equal(layout_from_table(rules, 32, 0, &moved), PSC_OK);
    assert_int_equal(moved.offset[PY_FRAMEOBJ_BACK], plain.offset[PY_FRAMEOBJ_BACK] + 16);
    assert_int_equal(moved.offset[PY_THREAD_ID], plain.offset[PY_THREAD_ID]);
    assert_int_equal(moved.offset[PY_FRAME_OWNER], PY_NO_OFFSET);
    assert_int_equal(layout_from_table(rules, 24 + 32, 0, &moved), PSC_ERR_ARGUMENT);
}

/* 3.7.0-3.7.3 are told by the size of _PyRuntime. */
static void test_early_3_7_has_a_shorter_gc(void **state)
{
    const struct py_rules *rules = layout_find_rules(0x030700f0);
    struct py_layout layout;
    (void)state;
    assert_int_equal(layout_from_table(rules, 16, 1432, &layout), PSC_OK);
    assert_int_equal(layout.offset[PY_RUNTIME_COLLECTING], 544);
    assert_int_equal(layout.offset[PY_RUNTIME_GIL_HOLDER], 1184);
    assert_int_equal(layout.offset[PY_RUNTIME_HEAD], 24);
    assert_int_equal(layout_from_table(rules, 16, 1520, &layout), PSC_OK);
    assert_int_equal(layout.offset[PY_RUNTIME_GIL_HOLDER], 1272);
}

static void check_version(uint32_t hex, const char *expected)
{
    char text[24];
    layout_format_version(hex, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void test_versions_are_written_as_python_does(void **state)
{
    (void)state;
    check_version(0x030b02f0, "3.11.2");
    check_version(0x030d00c1, "3.13.0rc1");
    check_version(0x030f00b4, "3.15.0b4");
    check_version(0x02071200, "2.7.18");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_are_those_of_the_headers),
        cmocka_unit_test(test_every_offset_is_checked),
        cmocka_unit_test(test_a_cut_struct_is_refused),
        cmocka_unit_test(test_unknown_versions_are_named),
        cmocka_unit_test(test_free_threaded_objects_have_a_longer_header),
        cmocka_unit_test(test_the_gil_members_lie_in_the_gil),
        cmocka_unit_test(test_trace_refs_move_objects_only),
        cmocka_unit_test(test_early_3_7_has_a_shorter_gc),
        cmocka_unit_test(test_versions_are_written_as_python_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
