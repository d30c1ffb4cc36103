/* Any text, masked: it ends, stays near its size, and masking it again changes nothing in JSON's
 * form. */
#include "redact.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whether quotes open and close as often as before is what keeps JSON what it is. */
static size_t count_quotes(const char *text, size_t size)
{
    size_t count = 0, backslashes = 0;
    for (size_t i = 0; i < size; i++) {
        count += text[i] == '"' && backslashes % 2 == 0;
        backslashes = text[i] == '\\' ? backslashes + 1 : 0;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text masked = {0};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    redact_text(text, size, &masked);
    if (!masked.failed && masked.size > 12 * (size + 1))
        abort();
    if (!masked.failed && size && text[0] == '{' &&
        count_quotes(text, size) % 2 != count_quotes(masked.data, masked.size) % 2 &&
        text[size - 1] == '}')
        abort();
    text_deinit(&masked);
    free(text);
    return 0;
}
