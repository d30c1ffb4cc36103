/* A line of the rules, and names and messages that are made alike in all builds. */
#include "signature_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(void (*function)(const char *given, struct text *ret), const char *given)
{
    struct text text = {0};
    function(given, &text);
    // Each byte becomes three at most: "<T>".
    if (!text.failed && text.size > 3 * strlen(given) + 3)
        abort();
    text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    if (!line)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    name(signature_name_function, line);
    name(signature_name_module, line);
    name(signature_name_file, line);
    name(signature_mask_message, line);
    struct rule rule;
    const char *problem = parse_rule(line, &rule);
    if (!problem && rule.pattern && rule.action == RULE_RENAME && !*rule.new_name)
        abort();
    free(line);
    return 0;
}
