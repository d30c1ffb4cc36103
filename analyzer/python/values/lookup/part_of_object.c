/* What an expression on an object leads to. */
#include "lookup.h"

#include <stdio.h>
#include <string.h>

#define SELF "self"

uint64_t python_count_steps(const struct python *python)
{
    return budget_count_steps(python);
}

enum psc_status python_find_part(struct python *python, psc_addr object, const char *typed,
                                 psc_addr *ret, struct psc_error *err)
{
    struct value_path path;
    char whole[VALUE_PATH_SIZE];
    bool is_item = typed[0] == '[' || typed[0] == '.';
    int size = snprintf(whole, sizeof(whole), "%s%s", is_item ? SELF : "", typed);
    if (size < 0 || (size_t)size >= sizeof(whole))
        return psc_fail(err, PSC_ERR_ARGUMENT, "'%.40s...' is too long", typed);
    enum psc_status status = parse_value_path(whole, &path, err);
    budget_renew(python);
    *ret = object;
    for (size_t i = 0; status == PSC_OK && i < path.count; i++) {
        const struct value_step *step = &path.steps[i];
        if (i == 0 && !strcmp(step->text, SELF))
            continue;
        status = step->kind == VALUE_STEP_NAME || step->kind == VALUE_STEP_ATTRIBUTE
                     ? lookup_attribute(python, *ret, step->text, ret, err)
                     : lookup_item(python, *ret, step, ret, err);
    }
    return status;
}
