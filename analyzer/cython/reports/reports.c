/* What is kept of a module's machine code between questions. */
#include "reports_private.h"

#include <stdlib.h>

static bool imports_parallel(const struct code_image *image)
{
    for (size_t i = 0; i < image->pointer_count; i++)
        if (flow_begins_parallel((struct code_target){.import = image->pointers[i].import}))
            return true;
    return false;
}

struct reports *reports_create(const uint8_t *bytes, size_t size)
{
    struct reports *reports = calloc(1, sizeof(*reports));
    if (!reports)
        return NULL;
    if (!flow_init(&reports->flow, bytes, size) ||
        !reports_find_traceback_helpers(&reports->flow, &reports->mypyc)) {
        reports_destroy(reports);
        return NULL;
    }
    reports->flow.has_parallel = imports_parallel(&reports->flow.image);
    return reports;
}

void reports_destroy(struct reports *reports)
{
    if (!reports)
        return;
    reports_destroy_tables(reports->tables);
    reports_destroy_blocks(reports->blocks);
    reports_destroy_identities(reports->identities);
    reports_destroy_chains(reports->chains);
    flow_deinit(&reports->flow);
    free(reports);
}

struct flow *reports_get_flow(struct reports *reports)
{
    return &reports->flow;
}

bool reports_is_mypyc(const struct reports *reports)
{
    return reports->mypyc;
}
