#include "json_values.h"

#include <string.h>

json_t *json_make_repaired_string(const char *bytes)
{
    struct text text = {0};
    size_t left = strlen(bytes);
    while (left) {
        uint32_t code_point;
        size_t used = utf8_decode(bytes, left, &code_point);
        if (used)
            text_add(&text, bytes, used);
        else
            text_add_code_point(&text, 0xfffd);
        used = used ? used : 1;
        bytes += used;
        left -= used;
    }
    json_t *value = text.failed ? NULL : json_string(text.data);
    text_deinit(&text);
    return value;
}

json_t *json_make_place(struct json_writer *writer, const struct trace_location *location)
{
    json_t *object = json_object();
    set(writer, object, "function", make_string(location->function));
    set(writer, object, "name", make_string(location->name));
    set(writer, object, "file", make_string(location->file));
    set(writer, object, "line", make_integer(location->line, location->line));
    return object;
}
