#include "dominators.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_NODES 10u

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t most)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % most;
}

struct sample {
    uint32_t count;
    bool leads[MOST_NODES][MOST_NODES];
    uint8_t flags[MOST_NODES];
    uint32_t first[MOST_NODES + 1];
    uint32_t nodes[MOST_NODES * MOST_NODES];
    struct holder_rows forward;
};

static void make_sample(struct sample *sample, uint32_t count, uint32_t density)
{
    uint32_t edges = 0;
    *sample = (struct sample){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        sample->flags[i] = !random_below(4) ? DOMINATOR_ROOT : 0;
        if (!sample->flags[i] && !random_below(6))
            sample->flags[i] = DOMINATOR_OWNED;
        if (!random_below(3))
            sample->flags[i] |= DOMINATOR_OWNER;
        sample->first[i] = edges;
        for (uint32_t j = 0; j < count; j++)
            if (random_below(10) < density) {
                sample->leads[i][j] = true;
                sample->nodes[edges++] = j;
            }
    }
    sample->first[count] = edges;
    sample->forward =
        (struct holder_rows){.count = count, .first = sample->first, .nodes = sample->nodes};
}

/* Whom the roots reach without passing a node. */
static void reach_without(const struct sample *sample, uint32_t without, bool *ret)
{
    memset(ret, 0, MOST_NODES * sizeof(*ret));
    for (uint32_t round = 0; round <= sample->count; round++)
        for (uint32_t i = 0; i < sample->count; i++) {
            if (i == without)
                continue;
            ret[i] |= sample->flags[i] & DOMINATOR_ROOT;
            for (uint32_t j = 0; ret[i] && j < sample->count; j++)
                ret[j] |=
                    j != without && sample->leads[i][j] &&
                    (!(sample->flags[j] & DOMINATOR_OWNED) || (sample->flags[i] & DOMINATOR_OWNER));
        }
}

static uint64_t size_of_sample(const void *context, uint32_t node)
{
    (void)context;
    return UINT64_C(1) << node;
}

/* One node retains another one when, and only when, nothing reaches that without it. */
static void check_sample(const struct sample *sample)
{
    struct dominator_input input = {
        .forward = sample->forward, .flags = sample->flags, .size = size_of_sample};
    struct dominators dominators = {0};
    bool reached[MOST_NODES], left[MOST_NODES];
    uint32_t count = 0;
    assert_int_equal(holder_rows_reverse(&sample->forward, &input.holders), PSC_OK);
    assert_int_equal(dominators_create(&input, &dominators), PSC_OK);
    reach_without(sample, HOLDERS_NO_NODE, reached);
    for (uint32_t i = 0; i < sample->count; i++) {
        if (!reached[i])
            continue;
        count++;
        reach_without(sample, i, left);
        for (uint32_t j = 0; j < sample->count; j++)
            if (reached[j])
                assert_int_equal(dominators.retained[i] >> j & 1, !left[j]);
    }
    assert_int_equal(dominators.reached, count);
    for (uint32_t i = 0; i < sample->count; i++)
        assert_int_equal(reached[dominators.order[i]], i < count);
    holder_rows_deinit(&input.holders);
    dominators_deinit(&dominators);
}

static void test_dominators_by_leaving_each_node_out(void **state)
{
    (void)state;
    struct sample sample;
    for (uint32_t round = 0; round < 20000; round++) {
        make_sample(&sample, round % (MOST_NODES + 1), 1 + round % 3);
        check_sample(&sample);
    }
}

static void test_reversed_twice_is_sorted(void **state)
{
    (void)state;
    struct sample sample;
    for (uint32_t round = 0; round < 1000; round++) {
        struct holder_rows once, twice;
        make_sample(&sample, round % (MOST_NODES + 1), 3);
        assert_int_equal(holder_rows_reverse(&sample.forward, &once), PSC_OK);
        assert_int_equal(holder_rows_reverse(&once, &twice), PSC_OK);
        assert_int_equal(twice.first[sample.count], sample.first[sample.count]);
        assert_memory_equal(twice.first, sample.first, (sample.count + 1) * sizeof(uint32_t));
        assert_memory_equal(twice.nodes, sample.nodes,
                            sample.first[sample.count] * sizeof(uint32_t));
        holder_rows_deinit(&once);
        holder_rows_deinit(&twice);
    }
}

#define LONG 1000000u

static uint64_t one_byte(const void *context, uint32_t node)
{
    (void)context;
    (void)node;
    return 1;
}

/* 0 -> 1 -> 2 ..., of two groups in turn, and a thousand nodes below the first one. */
static void test_a_long_chain_needs_no_deep_stack(void **state)
{
    (void)state;
    uint32_t *first = calloc(LONG + 1, sizeof(*first));
    uint32_t *nodes = calloc(LONG, sizeof(*nodes)), *group = calloc(LONG, sizeof(*group));
    uint8_t *flags = calloc(LONG, 1);
    uint64_t sums[2];
    for (uint32_t i = 0; i < LONG; i++) {
        first[i + 1] = i + 1 < LONG ? i + 1 : i;
        nodes[i] = i + 1;
        group[i] = i % 2;
    }
    flags[0] = DOMINATOR_ROOT;
    struct dominator_input input = {.forward = {.count = LONG, .first = first, .nodes = nodes},
                                    .flags = flags,
                                    .size = one_byte};
    struct dominators dominators = {0};
    assert_int_equal(holder_rows_reverse(&input.forward, &input.holders), PSC_OK);
    assert_int_equal(dominators_create(&input, &dominators), PSC_OK);
    assert_int_equal(dominators.retained[0], LONG);
    assert_int_equal(dominators.retained[LONG - 1], 1);
    assert_int_equal(dominators_sum_groups(&dominators, group, 2, sums), PSC_OK);
    assert_int_equal(sums[0], LONG);
    assert_int_equal(sums[1], LONG - 1);
    holder_rows_deinit(&input.holders);
    dominators_deinit(&dominators);
    free(first);
    free(nodes);
    free(group);
    free(flags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dominators_by_leaving_each_node_out),
        cmocka_unit_test(test_reversed_twice_is_sorted),
        cmocka_unit_test(test_a_long_chain_needs_no_deep_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
