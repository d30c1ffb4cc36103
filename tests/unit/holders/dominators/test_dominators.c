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
    uint8_t is_root[MOST_NODES];
    uint64_t first[MOST_NODES + 1];
    uint32_t nodes[MOST_NODES * MOST_NODES];
    struct holder_rows forward;
};

static void make_sample(struct sample *sample, uint32_t count, uint32_t density)
{
    uint64_t edges = 0;
    *sample = (struct sample){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        sample->is_root[i] = !random_below(4);
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
            ret[i] |= sample->is_root[i] != 0;
            for (uint32_t j = 0; ret[i] && j < sample->count; j++)
                ret[j] |= j != without && sample->leads[i][j];
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
        .forward = sample->forward, .is_root = sample->is_root, .size = size_of_sample};
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
        assert_memory_equal(twice.first, sample.first, (sample.count + 1) * sizeof(uint64_t));
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
    uint64_t *first = calloc(LONG + 1, sizeof(*first));
    uint32_t *nodes = calloc(LONG, sizeof(*nodes)), *group = calloc(LONG, sizeof(*group));
    uint8_t *is_root = calloc(LONG, 1);
    uint64_t sums[2];
    for (uint32_t i = 0; i < LONG; i++) {
        first[i + 1] = i + 1 < LONG ? i + 1 : i;
        nodes[i] = i + 1;
        group[i] = i % 2;
    }
    is_root[0] = 1;
    struct dominator_input input = {.forward = {.count = LONG, .first = first, .nodes = nodes},
                                    .is_root = is_root,
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
    free(is_root);
}

struct ranks {
    unsigned rank[5];
};

static unsigned rank_of(const void *context, uint32_t node)
{
    return ((const struct ranks *)context)->rank[node];
}

/* 0 -> 1 -> 2 -> 3, 4 -> 3. */
static void test_the_nearest_way_from_the_best(void **state)
{
    (void)state;
    const uint64_t first[] = {0, 1, 2, 3, 3, 4};
    const uint32_t nodes[] = {1, 2, 3, 3};
    const struct holder_rows forward = {.count = 5, .first = first, .nodes = nodes};
    struct ranks ranks = {{2, 0, 0, 0, 1}};
    struct holder_search search = {
        .rank = rank_of, .context = &ranks, .best = 2, .most_nodes = 100};
    struct holder_way way;
    assert_int_equal(holder_rows_reverse(&forward, &search.holders), PSC_OK);
    assert_int_equal(holder_way_find(&search, 3, &way), PSC_OK);
    assert_int_equal(way.count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(way.nodes[i], i);
    free(way.nodes);
    ranks.rank[0] = 0;
    assert_int_equal(holder_way_find(&search, 3, &way), PSC_OK);
    assert_int_equal(way.count, 2);
    assert_int_equal(way.nodes[0], 4);
    free(way.nodes);
    ranks.rank[4] = 0;
    assert_int_equal(holder_way_find(&search, 3, &way), PSC_ERR_NOT_FOUND);
    search.most_nodes = 2;
    assert_int_equal(holder_way_find(&search, 3, &way), PSC_ERR_LIMIT);
    ranks.rank[3] = 2;
    assert_int_equal(holder_way_find(&search, 3, &way), PSC_OK);
    assert_int_equal(way.count, 1);
    free(way.nodes);
    holder_rows_deinit(&search.holders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dominators_by_leaving_each_node_out),
        cmocka_unit_test(test_reversed_twice_is_sorted),
        cmocka_unit_test(test_a_long_chain_needs_no_deep_stack),
        cmocka_unit_test(test_the_nearest_way_from_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
