/* What is typed to ask for a value; the input is the text. */
#include "value_path.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct value_path path;
    struct psc_error err = {0};
    char *typed = malloc(size + 1);
    if (!typed)
        return 0;
    memcpy(typed, data, size);
    typed[size] = '\0';
    size_t last = 0;
    if (parse_value_path(typed, &path, &err) != PSC_OK) {
        if (!*err.message)
            abort();
        path.count = 0;
    }
    if (path.count > VALUE_PATH_STEPS || path.size > sizeof(path.text))
        abort();
    for (size_t i = 0; i < path.count; i++) {
        const struct value_step *step = &path.steps[i];
        if ((step->kind == VALUE_STEP_NAME) != (i == 0) || step->end <= last ||
            step->end > strlen(typed) || strlen(step->text) > step->end)
            abort();
        last = step->end;
    }
    free(typed);
    return 0;
}
