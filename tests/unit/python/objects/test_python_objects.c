/* Strings, ints and dicts of every layout, from memory laid out by hand. */
#include "python_memory.h"

#include <stdio.h>

#include <setjmp.h>
#include <cmocka.h>

static void check_string(struct memory *memory, psc_addr string, const char *expected)
{
    const char *text = NULL;
    assert_int_equal(py_read_string(&memory->python, string, PY_NAME_LIMIT, &text), PSC_OK);
    assert_string_equal(text, expected);
}

/* A length that is damaged makes a name of whatever follows: it is cut, for it is shown with each
 * frame. */
static void test_long_names_are_cut(void **state)
{
    char name[PY_NAME_LIMIT + 6] = {0}, expected[PY_NAME_LIMIT + 4];
    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    snprintf(expected, sizeof(expected), "%.*s...", (int)PY_NAME_LIMIT, name);
    struct memory *memory = memory_create(0x030b00f0);
    check_string(memory, memory_ascii(memory, name), expected);
    memory_destroy(memory);
}

static void test_strings_of_every_width(void **state)
{
    static const uint8_t latin[] = {'f', 0xfc, 'n', 'f'};
    static const uint16_t wide[] = {0x51fd, 0x6570, 0xd800, '_', 0};
    static const uint32_t widest[] = {0x1f600, 'x', 0x110000, 0xdc00};
    (void)state;
    for (int peeks = 0; peeks < 2; peeks++) {
        struct memory *memory = memory_create(0x030b00f0);
        memory->peeks = peeks;
        check_string(memory, memory_ascii(memory, "plain"), "plain");
        check_string(memory, memory_ascii(memory, ""), "");
        check_string(memory, memory_string(memory, latin, 4, 1, false), "fünf");
        check_string(memory, memory_string(memory, wide, 5, 2, false),
                     "函数\xef\xbf\xbd_\xef\xbf\xbd");
        check_string(memory, memory_string(memory, widest, 4, 4, false),
                     "😀x\xef\xbf\xbd\xef\xbf\xbd");
        memory_destroy(memory);
    }
}

/* ---- Python 2.7 ---- */

static psc_addr memory_bytes(struct memory *memory, const char *text)
{
    psc_addr string = memory_object(memory, memory->bytes_type, 64 + strlen(text));
    memory_put_field(memory, string, PY_VAR_SIZE, strlen(text));
    psc_addr data = py_field_address(&memory->python, string, PY_BYTES_DATA);
    memcpy(memory->bytes + (data - MEMORY_BASE), text, strlen(text) + 1);
    return string;
}

static psc_addr memory_unicode(struct memory *memory, const void *characters, size_t count,
                               size_t width)
{
    psc_addr data = memory_reserve(memory, (count + 1) * width);
    memcpy(memory->bytes + (data - MEMORY_BASE), characters, count * width);
    psc_addr string = memory_object(memory, memory->str_type, 64);
    memory_put_field(memory, string, PY_STR_LENGTH, count);
    memory_put_field(memory, string, PY_STR_DATA, data);
    return string;
}

static void test_strings_of_2(void **state)
{
    static const uint16_t narrow[] = {'f', 0xfc, 0x20ac, 'x', 'y'};
    static const uint32_t wide[] = {'f', 0x1f600, 0x20ac};
    struct memory *memory = memory_create(0x020712f0);
    (void)state;
    check_string(memory, memory_bytes(memory, "plain"), "plain");
    check_string(memory, memory_bytes(memory, "\xc3\xa9t\xc3"), "ét\xef\xbf\xbd");
    assert_true(py_string_equals(&memory->python, memory_bytes(memory, "key"), "key"));
    /* Without the symbols that tell, the text does. */
    for (int known = 0; known < 2; known++) {
        memory->python.layout.unicode_width = known ? 2 : 0;
        check_string(memory, memory_unicode(memory, narrow, 5, 2), "fü€xy");
        memory->python.layout.unicode_width = known ? 4 : 0;
        check_string(memory, memory_unicode(memory, wide, 3, 4), "f😀€");
    }
    memory_destroy(memory);
}

static void test_numbers_of_2(void **state)
{
    struct memory *memory = memory_create(0x020712f0);
    uint64_t value;
    (void)state;
    psc_addr type = memory_type(memory, PY_FLAG_PLAIN_INT);
    psc_addr number = memory_object(memory, type, 24);
    memory_put_field(memory, number, PY_INT_VALUE, UINT64_C(1) << 62);
    assert_int_equal(py_read_int(&memory->python, number, &value), PSC_OK);
    assert_true(value == UINT64_C(1) << 62);
    memory_put_field(memory, number, PY_INT_VALUE, UINT64_MAX);
    assert_int_equal(py_read_int(&memory->python, number, &value), PSC_ERR_LIMIT);
    psc_addr large = memory_object(memory, memory->int_type, 32);
    memory_put_field(memory, large, PY_INT_SIZE, 1);
    memory_put_field(memory, large, PY_INT_DIGITS, 77);
    assert_int_equal(py_read_int(&memory->python, large, &value), PSC_OK);
    assert_int_equal(value, 77);
    memory_destroy(memory);
}

static void test_dicts_of_2(void **state)
{
    struct memory *memory = memory_create(0x020712f0);
    struct py_items items;
    psc_addr key;
    psc_addr value;
    (void)state;
    psc_addr table = memory_reserve(memory, 8 * 24);
    psc_addr name = memory_bytes(memory, "name");
    psc_addr dict = memory_object(memory, memory->dict_type, 64);
    memory_put_field(memory, dict, PY_DICT_MASK, 7);
    memory_put_field(memory, dict, PY_DICT_TABLE, table);
    memory_put(memory, table + 24 * 2 + 8, name, 8); /* Taken out: no value. */
    memory_put(memory, table + 24 * 5 + 8, name, 8);
    memory_put(memory, table + 24 * 5 + 16, dict, 8);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_OK);
    assert_int_equal(py_items_next(&memory->python, &items, &key, &value), PSC_OK);
    assert_true(key == name && value == dict);
    assert_int_equal(py_items_next(&memory->python, &items, &key, &value), PSC_ERR_NOT_FOUND);
    memory_put_field(memory, dict, PY_DICT_MASK, UINT64_MAX);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FORMAT);
    memory_put_field(memory, dict, PY_DICT_MASK, PY_DICT_LIMIT);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FORMAT);
    memory_destroy(memory);
}

static void test_free_threaded_314_has_its_kind_elsewhere(void **state)
{
    static const uint16_t wide[] = {0x51fd};
    struct memory *memory = memory_create(0x030b00f0);
    (void)state;
    memory->python.layout.string_kind_shift = 8;
    check_string(memory, memory_string(memory, wide, 1, 2, false), "函");
    memory_destroy(memory);
}

static void test_strings_with_a_data_pointer(void **state)
{
    static const uint32_t wide[] = {'a', 0x20ac};
    struct memory *memory = memory_create(0x030800f0);
    (void)state;
    psc_addr data = memory_reserve(memory, sizeof(wide));
    memcpy(memory->bytes + (data - MEMORY_BASE), wide, sizeof(wide));
    psc_addr string = memory_object(memory, memory->str_type, 96);
    memory_put_field(memory, string, PY_STR_LENGTH, 2);
    memory_put_field(memory, string, PY_STR_STATE, 4u << 2);
    memory_put_field(memory, string, PY_STR_DATA, data);
    check_string(memory, string, "a€");
    /* Legacy: kind 0, only wchar_t. */
    memory_put_field(memory, string, PY_STR_STATE, 0);
    memory_put_field(memory, string, PY_STR_WSTR, data);
    memory_put_field(memory, string, PY_STR_WSTR_LENGTH, 1);
    check_string(memory, string, "a");
    memory_destroy(memory);
}

static void test_what_is_no_string_is_refused(void **state)
{
    struct memory *memory = memory_create(0x030c00f0);
    const char *text = NULL;
    struct python *python = &memory->python;
    (void)state;
    psc_addr string = memory_ascii(memory, "long name");
    assert_int_equal(py_read_string(python, string, 4, &text), PSC_OK);
    assert_string_equal(text, "long...");
    memory_put_field(memory, string, PY_STR_STATE, 3u << 2);
    assert_int_equal(py_read_string(python, string, 99, &text), PSC_ERR_FORMAT);
    memory_put_field(memory, string, PY_STR_STATE, 0);
    assert_int_equal(py_read_string(python, string, 99, &text), PSC_ERR_UNSUPPORTED);
    memory_put_field(memory, string, PY_STR_STATE, (1u | 8u | 16u) << 2);
    memory_put_field(memory, string, PY_STR_LENGTH, UINT64_MAX);
    assert_int_equal(py_read_string(python, string, (size_t)1 << 30, &text), PSC_ERR_FAULT);
    assert_int_equal(py_read_string(python, memory->str_type, 99, &text), PSC_ERR_FORMAT);
    assert_int_equal(py_read_string(python, 0, 99, &text), PSC_ERR_FORMAT);
    assert_int_equal(py_read_string(python, string + 1, 99, &text), PSC_ERR_FORMAT);
    assert_int_equal(py_read_string(python, UINT64_MAX - 7, 99, &text), PSC_ERR_FORMAT);
    memory_destroy(memory);
}

static void check_int(uint32_t hex, uint64_t size, const uint32_t *digits, enum psc_status status,
                      uint64_t expected)
{
    struct memory *memory = memory_create(hex);
    psc_addr object = memory_object(memory, memory->int_type, 64);
    uint64_t value = 0;
    memory_put_field(memory, object, PY_INT_SIZE, size);
    memcpy(memory->bytes + (object + memory->python.layout.offset[PY_INT_DIGITS] - MEMORY_BASE),
           digits, 12);
    assert_int_equal(py_read_int(&memory->python, object, &value), status);
    assert_int_equal(value, expected);
    memory_destroy(memory);
}

static void test_ints_of_thread_size(void **state)
{
    static const uint32_t digits[] = {5, 1, 15};
    static const uint32_t large[] = {5, 1, 16};
    uint64_t three = 5 | UINT64_C(1) << 30 | UINT64_C(15) << 60;
    (void)state;
    check_int(0x030800f0, 0, digits, PSC_OK, 0);
    check_int(0x030800f0, 1, digits, PSC_OK, 5);
    check_int(0x030800f0, 3, digits, PSC_OK, three);
    check_int(0x030800f0, 3, large, PSC_ERR_LIMIT, 0);
    check_int(0x030800f0, 4, digits, PSC_ERR_LIMIT, 0);
    check_int(0x030800f0, UINT64_MAX, digits, PSC_ERR_LIMIT, 0);
    check_int(0x030c00f0, 1, digits, PSC_OK, 0);
    check_int(0x030c00f0, 3 << 3, digits, PSC_OK, three);
    check_int(0x030c00f0, 1 << 3 | 2, digits, PSC_ERR_LIMIT, 0);
}

/* {"gone": deleted, "key": 0x1230} with entries of three words or two. */
static psc_addr make_dict(struct memory *memory, uint8_t kind, psc_addr values)
{
    bool kinds = memory->python.layout.offset[PY_KEYS_KIND] != PY_NO_OFFSET;
    psc_addr keys = memory_reserve(memory, 256);
    psc_addr dict = memory_object(memory, memory->dict_type, 64);
    psc_addr entries = keys + memory->python.layout.offset[PY_KEYS_INDICES] + 8;
    size_t size = kind ? 16 : 24;
    size_t key_at = kind ? 0 : 8;
    memory_put_field(memory, keys, PY_KEYS_ENTRIES, 2);
    if (kinds) {
        memory_put_field(memory, keys, PY_KEYS_KIND, kind);
        memory_put_field(memory, keys, PY_KEYS_LOG2_INDEX_BYTES, 3);
    } else {
        memory_put_field(memory, keys, PY_KEYS_SIZE, 8);
    }
    memory_put(memory, entries + key_at, memory_ascii(memory, "gone"), 8);
    memory_put(memory, entries + size + key_at, memory_ascii(memory, "key"), 8);
    if (!values)
        memory_put(memory, entries + size + key_at + 8, 0x1230, 8);
    memory_put_field(memory, dict, PY_DICT_KEYS, keys);
    memory_put_field(memory, dict, PY_DICT_VALUES, values);
    return dict;
}

static void check_key(struct memory *memory, psc_addr dict)
{
    struct py_items items;
    psc_addr value = 0;
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_OK);
    assert_int_equal(py_items_find(&memory->python, &items, "key", 10, &value), PSC_OK);
    assert_int_equal(value, 0x1230);
    assert_int_equal(py_items_find(&memory->python, &items, "key", 10, &value), PSC_ERR_NOT_FOUND);
}

static void test_dicts_of_every_layout(void **state)
{
    (void)state;
    struct memory *memory = memory_create(0x030800f0);
    check_key(memory, make_dict(memory, 0, 0));
    memory_destroy(memory);
    memory = memory_create(0x030b00f0);
    check_key(memory, make_dict(memory, 0, 0));
    check_key(memory, make_dict(memory, 1, 0));
    psc_addr values = memory_reserve(memory, 32);
    memory_put(memory, values + 8, 0x1230, 8);
    check_key(memory, make_dict(memory, 2, values));
    memory->peeks = false;
    check_key(memory, make_dict(memory, 1, 0));
    memory_destroy(memory);
}

static void test_damaged_dicts_are_refused(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    struct py_items items;
    psc_addr keys;
    (void)state;
    psc_addr dict = make_dict(memory, 0, 0);
    assert_int_equal(py_read_u64(&memory->python, dict, PY_DICT_KEYS, &keys), PSC_OK);
    memory_put_field(memory, keys, PY_KEYS_KIND, 3);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FORMAT);
    memory_put_field(memory, keys, PY_KEYS_KIND, 0);
    memory_put_field(memory, keys, PY_KEYS_LOG2_INDEX_BYTES, 200);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FORMAT);
    memory_put_field(memory, keys, PY_KEYS_LOG2_INDEX_BYTES, 3);
    memory_put_field(memory, keys, PY_KEYS_ENTRIES, UINT64_MAX);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FORMAT);
    memory_put_field(memory, dict, PY_DICT_KEYS, 8);
    assert_int_equal(py_dict_open(&memory->python, dict, &items), PSC_ERR_FAULT);
    memory_destroy(memory);
}

static void check_text(const char *text, uint32_t hex, const char *version)
{
    struct py_version_text found = {0};
    assert_int_equal(parse_version_text(text, strlen(text), &found), hex != 0);
    if (!hex)
        return;
    assert_int_equal(found.hex, hex);
    assert_string_equal(found.text, version);
}

/* A table full of addresses where nothing is: each may cost a system call. */
static void test_addresses_that_cannot_be_read_use_up_the_budget(void **state)
{
    struct memory *memory = memory_create(0x030b00f0);
    uint64_t value, times = 0;
    (void)state;
    assert_int_equal(py_read_u64(&memory->python, memory->str_type, PY_OBJECT_TYPE, &value),
                     PSC_OK);
    assert_true(budget_spend(&memory->python, BUDGET_WORK - 10 * BUDGET_UNREADABLE));
    for (; !budget_is_spent(&memory->python) && times < 1000; times++)
        assert_int_not_equal(py_read_u64(&memory->python, 0x10, PY_OBJECT_TYPE, &value), PSC_OK);
    assert_int_equal(times, 10);
    // An empty table is not walked without end.
    struct py_set_items items = {.table = MEMORY_BASE, .count = PY_SET_LIMIT};
    assert_int_equal(py_set_next(&memory->python, &items, &value), PSC_ERR_LIMIT);
    memory_destroy(memory);
}

static void test_version_texts(void **state)
{
    (void)state;
    check_text("3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]", 0x030b02f0, "3.11.2");
    check_text("3.13.0rc1 (main, x) [Clang 18]", 0x030d00c1, "3.13.0rc1");
    check_text("3.8.18+ (default, x) \n[GCC 12]", 0x030812f0, "3.8.18+");
    check_text("2.7.18 (default, x) \n[GCC 12]", 0x020712f0, "2.7.18");
    check_text("3.0.13 (a library)", 0, "");
    check_text("3.11 (main) [GCC]", 0, "");
    check_text("3.11.2(main) [GCC]", 0, "");
    check_text("4.0.0 (main) [GCC]", 0, "");
    check_text("3.1111.2 (main) [GCC]", 0, "");
    check_text("3.11.2 ", 0, "");
    check_text("3.", 0, "");
}

static void test_version_names(void **state)
{
    (void)state;
    assert_int_equal(parse_version_name("libpython3.7m.so.1.0"), 0x03070000);
    assert_int_equal(parse_version_name("python3.11"), 0x030b0000);
    assert_int_equal(parse_version_name("libpython2.7.so.1.0"), 0x02070000);
    assert_int_equal(parse_version_name("python3"), 0);
    assert_int_equal(parse_version_name("python"), 0);
    assert_int_equal(parse_version_name("libc.so.6"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_of_every_width),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_strings_of_2),
        cmocka_unit_test(test_numbers_of_2),
        cmocka_unit_test(test_dicts_of_2),
        cmocka_unit_test(test_free_threaded_314_has_its_kind_elsewhere),
        cmocka_unit_test(test_strings_with_a_data_pointer),
        cmocka_unit_test(test_what_is_no_string_is_refused),
        cmocka_unit_test(test_ints_of_thread_size),
        cmocka_unit_test(test_dicts_of_every_layout),
        cmocka_unit_test(test_damaged_dicts_are_refused),
        cmocka_unit_test(test_addresses_that_cannot_be_read_use_up_the_budget),
        cmocka_unit_test(test_version_texts),
        cmocka_unit_test(test_version_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
