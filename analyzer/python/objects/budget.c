/* What reading values may cost in all: damaged memory can lead to more than anybody waits for. */
#include "objects.h"

#include <stdlib.h>

struct budget {
    uint64_t work;
    size_t bytes;
};

enum psc_status budget_create(struct python *python)
{
    python->budget = malloc(sizeof(*python->budget));
    if (!python->budget)
        return PSC_ERR_MEMORY;
    budget_renew(python);
    return PSC_OK;
}

void budget_renew(struct python *python)
{
    *python->budget = (struct budget){.work = BUDGET_WORK, .bytes = BUDGET_BYTES};
}

void budget_destroy(struct python *python)
{
    free(python->budget);
    python->budget = NULL;
}

bool budget_spend(struct python *python, uint64_t steps)
{
    struct budget *budget = python->budget;
    bool enough = budget->work >= steps;
    budget->work -= enough ? steps : budget->work;
    return enough;
}

void budget_spend_bytes(struct python *python, size_t bytes)
{
    struct budget *budget = python->budget;
    budget->bytes -= bytes < budget->bytes ? bytes : budget->bytes;
}

uint64_t budget_count_steps(const struct python *python)
{
    return BUDGET_WORK - python->budget->work;
}

bool budget_is_spent(const struct python *python)
{
    return !python->budget->work || !python->budget->bytes;
}
