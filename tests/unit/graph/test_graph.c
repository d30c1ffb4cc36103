#include "graph.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_NODES 9u

/* leads[a][b]: from a to b. */
struct table {
    size_t count;
    bool leads[MOST_NODES][MOST_NODES];
};

static size_t next_of_table(const void *context, size_t node, size_t *edge)
{
    const struct table *table = context;
    while (*edge < table->count) {
        size_t to = (*edge)++;
        if (table->leads[node][to])
            return to;
    }
    return GRAPH_NO_NODE;
}

/* Whom each one reaches in any number of steps, none with them. */
static void close_table(const struct table *table, bool ret[MOST_NODES][MOST_NODES])
{
    memcpy(ret, table->leads, sizeof(table->leads));
    for (size_t i = 0; i < table->count; i++)
        ret[i][i] = true;
    for (size_t by = 0; by < table->count; by++)
        for (size_t i = 0; i < table->count; i++)
            for (size_t j = 0; j < table->count; j++)
                ret[i][j] |= ret[i][by] && ret[by][j];
}

/* Two nodes are of one group when, and only when, each is reached from the other. */
static void check_table(const struct table *table)
{
    const struct graph graph = {table->count, table, next_of_table};
    bool reached[MOST_NODES][MOST_NODES];
    bool used[MOST_NODES] = {false};
    size_t groups[MOST_NODES], count;
    assert_int_equal(graph_find_groups(&graph, groups, &count), PSC_OK);
    close_table(table, reached);
    for (size_t i = 0; i < table->count; i++) {
        assert_true(groups[i] < count);
        used[groups[i]] = true;
        for (size_t j = 0; j < table->count; j++)
            assert_int_equal(groups[i] == groups[j], reached[i][j] && reached[j][i]);
    }
    for (size_t i = 0; i < count; i++)
        assert_true(used[i]);
}

static void test_as_by_looking_at_all_ways(void **state)
{
    (void)state;
    uint64_t random = 42;
    for (unsigned round = 0; round < 20000; round++) {
        struct table table = {.count = round % (MOST_NODES + 1)};
        for (size_t i = 0; i < table.count; i++)
            for (size_t j = 0; j < table.count; j++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                table.leads[i][j] = (random >> 33) % 8 < 1 + round % 3;
            }
        check_table(&table);
    }
}

static void test_no_nodes_no_groups(void **state)
{
    (void)state;
    const struct graph graph = {.node_count = 0};
    size_t count = 7;
    assert_int_equal(graph_find_groups(&graph, NULL, &count), PSC_OK);
    assert_int_equal(count, 0);
}

struct chain {
    size_t count;
    bool closed; /* The last one leads to the first one. */
};

static size_t next_of_chain(const void *context, size_t node, size_t *edge)
{
    const struct chain *chain = context;
    if ((*edge)++)
        return GRAPH_NO_NODE;
    if (node + 1 < chain->count)
        return node + 1;
    return chain->closed ? 0 : GRAPH_NO_NODE;
}

static void test_a_long_chain_needs_no_deep_stack(void **state)
{
    (void)state;
    const size_t length = 1000000;
    size_t *groups = calloc(length, sizeof(*groups));
    for (int closed = 0; closed < 2; closed++) {
        const struct chain chain = {length, closed};
        const struct graph graph = {length, &chain, next_of_chain};
        size_t count;
        assert_int_equal(graph_find_groups(&graph, groups, &count), PSC_OK);
        assert_int_equal(count, closed ? 1 : length);
    }
    free(groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_by_looking_at_all_ways),
        cmocka_unit_test(test_no_nodes_no_groups),
        cmocka_unit_test(test_a_long_chain_needs_no_deep_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
