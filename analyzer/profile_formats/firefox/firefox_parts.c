/* What the tables and the rest have in common. */
#include "firefox_private.h"

void firefox_column(struct firefox *to, const char *key, uint32_t count, firefox_value_fn *value)
{
    json_open_array(to->writer, key);
    for (uint32_t i = 0; i < count; i++) {
        int64_t one = value(to, i);
        json_put_integer(to->writer, NULL, one != FIREFOX_NULL, one);
        printer_flow(to->printer);
    }
    json_close_array(to->writer);
}

const char *firefox_library_name(const struct profile *profile, uint32_t library)
{
    const char *path = profile_string(profile, profile->libraries[library].path);
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}
