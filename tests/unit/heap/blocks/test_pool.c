/* Pools of CPython's allocator of small blocks, known by the numbers of their headers. */
#include "blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4096, BLOCK = 64, BLOCKS = 10 };
static const psc_addr POOL = 0x7f0000001000;
static uint8_t bytes[SIZE];
static struct heap_pool pool;

static void put_u32(size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof(value));
}

static void put_u64(size_t at, uint64_t value)
{
    memcpy(bytes + at, &value, sizeof(value));
}

static size_t block(size_t index)
{
    return PYTHON_POOL_HEADER + index * BLOCK;
}

/* Ten blocks were used once; the third and the first are free again, in this order. */
static void make_pool(void)
{
    memset(bytes, 0, sizeof(bytes));
    put_u32(PYTHON_POOL_COUNT, BLOCKS - 2);
    put_u64(PYTHON_POOL_FREE, POOL + block(2));
    put_u64(block(2), POOL + block(0));
    put_u32(PYTHON_POOL_CLASS, BLOCK / 16 - 1);
    put_u32(PYTHON_POOL_NEXT_OFFSET, (uint32_t)block(BLOCKS));
    put_u32(PYTHON_POOL_LAST_OFFSET, SIZE - BLOCK);
}

static void test_good(void **state)
{
    (void)state;
    make_pool();
    assert_int_equal(parse_pool(bytes, SIZE, POOL, &pool), PSC_OK);
    assert_int_equal(pool.size_class, 3);
    assert_int_equal(pool.capacity, BLOCKS);
    assert_int_equal(pool.used, BLOCKS - 2);
    assert_int_equal(pool.free_listed, 2);
    assert_int_equal(pool.free[0], 1 << 2 | 1 << 0);
    assert_false(pool.broken);
}

static void test_damaged(void **state)
{
    (void)state;
    const uint64_t links[] = {POOL,
                              POOL + block(0) + 8,
                              POOL + block(BLOCKS),
                              POOL + SIZE,
                              POOL + block(2),
                              0x4141414141414141,
                              7};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(links); i++) {
        make_pool();
        put_u64(block(2), links[i]);
        assert_int_equal(parse_pool(bytes, SIZE, POOL, &pool), PSC_OK);
        assert_true(pool.broken);
        assert_int_equal(pool.broken_at, POOL + block(2));
        assert_int_equal(pool.broken_value, links[i]);
    }
    make_pool();
    put_u32(PYTHON_POOL_COUNT, BLOCKS - 1);
    assert_int_equal(parse_pool(bytes, SIZE, POOL, &pool), PSC_OK);
    assert_true(pool.broken);
    assert_int_equal(pool.broken_at, POOL);
}

/* Memory that is none. */
static void test_others(void **state)
{
    (void)state;
    const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {{PYTHON_POOL_COUNT, 0},
                 {PYTHON_POOL_COUNT, BLOCKS + 1},
                 {PYTHON_POOL_CLASS, PYTHON_POOL_CLASSES},
                 {PYTHON_POOL_CLASS, UINT32_MAX},
                 {PYTHON_POOL_NEXT_OFFSET, PYTHON_POOL_HEADER},
                 {PYTHON_POOL_NEXT_OFFSET, SIZE + 64},
                 {PYTHON_POOL_NEXT_OFFSET, PYTHON_POOL_HEADER + BLOCK + 8},
                 {PYTHON_POOL_LAST_OFFSET, SIZE}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wrong); i++) {
        make_pool();
        put_u32(wrong[i].at, wrong[i].value);
        assert_int_equal(parse_pool(bytes, SIZE, POOL, &pool), PSC_ERR_FORMAT);
    }
    assert_int_equal(parse_pool(bytes, 16, POOL, &pool), PSC_ERR_FORMAT);
    assert_int_equal(parse_pool(bytes, (uint64_t)SIZE * 1024, POOL, &pool), PSC_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
