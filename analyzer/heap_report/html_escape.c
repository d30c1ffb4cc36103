#include "html_escape.h"

static void add_byte(struct text *out, char byte)
{
    switch (byte) {
    case '&':
        text_add_string(out, "&amp;");
        return;
    case '<':
        text_add_string(out, "&lt;");
        return;
    case '>':
        text_add_string(out, "&gt;");
        return;
    case '"':
        text_add_string(out, "&quot;");
        return;
    case '\'':
        text_add_string(out, "&#39;");
        return;
    default:
        text_add_char(out, byte);
    }
}

void html_add_escaped(struct text *out, const char *text)
{
    struct text safe = {0};
    text_add_escaped(&safe, text);
    for (size_t i = 0; i < safe.size; i++)
        add_byte(out, safe.data[i]);
    out->failed |= safe.failed;
    text_deinit(&safe);
}
