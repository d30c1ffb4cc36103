/* The parts of a C name of Cython's, each by itself: what the fuzzer of whole symbols may not
 * reach. */
#include "symbol.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct slice text, struct slice part)
{
    if (part.size && (part.data < text.data || part.size > text.size ||
                      (size_t)(part.data - text.data) > text.size - part.size))
        abort();
}

static void check_path(struct slice text, const char *module_name)
{
    const struct cython_context context = {.module_name = module_name};
    for (int numbering = CYTHON_UNNUMBERED; numbering <= CYTHON_NUMBERED_GENERATOR; numbering++) {
        struct cython_path path;
        parse_cython_path(text, (enum cython_numbering)numbering, module_name ? &context : NULL,
                          &path);
        if (path.count > CYTHON_COMPONENT_LIMIT)
            abort();
        for (size_t i = 0; i < path.count; i++)
            check_inside(text, path.components[i].name);
        check_inside(text, path.leaf);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 12)
        return 0;
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    copy[size] = '\0';
    struct slice text = {copy, size}, rest = text, prefix;
    check_path(text, NULL);
    check_path(text, "pkg.sub._kern");
    if (parse_cython_specialization(&rest, &prefix)) {
        check_inside(text, rest);
        check_inside(text, prefix);
    }
    struct text decoded = {0};
    size_t basic = size ? data[0] % size : 0;
    (void)parse_punycode((struct slice){copy, basic}, slice_from(text, basic), &decoded);
    struct cython_symbol symbol;
    (void)parse_cython_symbol(copy, &decoded, &symbol);
    text_deinit(&decoded);
    free(copy);
    return 0;
}
