/* Names of code in the files that perf(1) reads. */
#include "code_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

static void expect_name(const struct code_name *name, psc_addr start, psc_addr end,
                        const char *text)
{
    assert_int_equal(name->start, start);
    assert_int_equal(name->end, end);
    assert_int_equal(name->name_size, strlen(text));
    assert_memory_equal(name->name, text, name->name_size);
}

static void test_perf_map(void **state)
{
    (void)state;
    static const char text[] = "7f00a0 20 py::f:/a b.py\n"
                               "0x7F0100 0x8 second\n"
                               "\n"
                               "zz 8 none\n"
                               "7f0200 0 empty\n"
                               "7f0200 8 \n"
                               "7f0200\n"
                               "ffffffffffffffff 2 wraps\n"
                               "11112222333344445 2 long\n"
                               "7f0300 10 last";
    const char *at = text, *end = text + sizeof(text) - 1;
    struct code_name name;
    assert_true(parse_next_perf_name(&at, end, &name));
    expect_name(&name, 0x7f00a0, 0x7f00c0, "py::f:/a b.py");
    assert_true(parse_next_perf_name(&at, end, &name));
    expect_name(&name, 0x7f0100, 0x7f0108, "second");
    assert_true(parse_next_perf_name(&at, end, &name));
    expect_name(&name, 0x7f0300, 0x7f0310, "last");
    assert_false(parse_next_perf_name(&at, end, &name));
}

static size_t put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
    return size;
}

static size_t put_load(uint8_t *at, uint32_t id, psc_addr start, uint64_t size, const char *name)
{
    uint8_t *begin = at;
    size_t length = strlen(name) + 1;
    at += put(at, id, 4);
    at += put(at, 16 + 40 + length + 3, 4);
    at += put(at, 0, 8); /* A time. */
    at += put(at, 7, 4);
    at += put(at, 7, 4);
    at += put(at, start, 8);
    at += put(at, start, 8);
    at += put(at, size, 8);
    at += put(at, 0, 8);
    memcpy(at, name, length);
    memset(at + length, 0xcc, 3); /* Its code. */
    return (size_t)(at + length + 3 - begin);
}

static void test_jit_dump(void **state)
{
    (void)state;
    uint8_t bytes[512] = {0};
    struct jit_dump dump;
    struct code_name name;
    put(bytes, 0x4a695444, 4);
    put(bytes + 4, 1, 4);
    put(bytes + 8, 40, 4);
    put(bytes + 12, 62, 4);
    put(bytes + 20, 1234, 4);
    size_t size = 40;
    size += put_load(bytes + size, 0, 0x1000, 0x20, "first");
    size += put_load(bytes + size, 2, 0x2000, 0x20, "of another kind");
    size += put_load(bytes + size, 0, 0x3000, 0, "empty");
    size += put_load(bytes + size, 0, 0x4000, 0x10, "second");
    assert_true(parse_jit_dump(bytes, size, &dump));
    assert_int_equal(dump.header_size, 40);
    assert_int_equal(dump.pid, 1234);
    size_t at = dump.header_size;
    assert_true(parse_next_jit_name(bytes, size, &at, &name));
    expect_name(&name, 0x1000, 0x1020, "first");
    assert_true(parse_next_jit_name(bytes, size, &at, &name));
    expect_name(&name, 0x4000, 0x4010, "second");
    assert_false(parse_next_jit_name(bytes, size, &at, &name));
    /* Cut off, as by a process that died while it wrote. */
    at = dump.header_size;
    assert_false(parse_next_jit_name(bytes, 40 + 30, &at, &name));
    put(bytes + 44, 3, 4); /* A record smaller than its own head. */
    at = dump.header_size;
    assert_false(parse_next_jit_name(bytes, size, &at, &name));
    assert_false(parse_jit_dump(bytes, 39, &dump));
    bytes[0] ^= 1;
    assert_false(parse_jit_dump(bytes, size, &dump));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perf_map),
        cmocka_unit_test(test_jit_dump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
