/* Names of test cases, and text that XML may hold. */
#include "junit_private.h"
#include "messages.h"

#include <stdlib.h>
#include <string.h>

/* The end of the last "::" before the parameters, and of the path before the first. */
static void find_parts(const char *id, const char **ret_path_end, const char **ret_name)
{
    const char *end = id + strcspn(id, "[");
    *ret_path_end = NULL;
    *ret_name = id;
    for (const char *at = id; at + 1 < end; at++)
        if (at[0] == ':' && at[1] == ':') {
            *ret_path_end = *ret_path_end ? *ret_path_end : at;
            *ret_name = at + 2;
            at++;
        }
}

bool junit_name_of_test(const char *id, struct junit_name *ret)
{
    const char *path_end, *name;
    *ret = (struct junit_name){0};
    find_parts(id, &path_end, &name);
    ret->name = make_xml_text(name);
    ret->class_name = make_xml_text(id);
    if (!ret->name || !ret->class_name)
        return false;
    // In what is before the name: "a/b.py::C" is a.b.C. The text may have become longer by escapes,
    // which no path of a test has in front of its first "::".
    char *to = ret->class_name;
    const char *end = path_end ? name - 2 : id;
    for (const char *from = id; from < end; from++) {
        const bool in_path = from < path_end;
        if (in_path && path_end - from == 3 && !strncmp(from, ".py", 3))
            from += 2;
        else if (!in_path && from[0] == ':' && from[1] == ':')
            *to++ = '.', from++;
        else
            *to++ = in_path && *from == '/' ? '.' : *from;
    }
    *to = '\0';
    char *checked = make_xml_text(ret->class_name);
    free(ret->class_name);
    ret->class_name = checked;
    return checked != NULL;
}

void junit_name_deinit(struct junit_name *name)
{
    free(name->class_name);
    free(name->name);
}

/* U+FFFE and U+FFFF, which are characters of UTF-8 but not of XML 1.0 (2.2). */
static void mask_noncharacters(char *text)
{
    for (char *at = text; (at = strstr(at, "\xef\xbf")); at += 2)
        if ((unsigned char)at[2] >= 0xbe)
            at[2] = (char)0xbd; // U+FFFD
}

char *make_xml_text(const char *text)
{
    char *made = NULL, *copy = strdup(text);
    size_t size;
    FILE *file = copy ? open_memstream(&made, &size) : NULL;
    // Controls and what is no UTF-8 are escaped, but for the ends of lines.
    for (char *line = file ? copy : NULL; line;) {
        char *end = line + strcspn(line, "\n");
        const bool last = !*end;
        *end = '\0';
        put_safely(file, line);
        if (!last)
            putc('\n', file);
        line = last ? NULL : end + 1;
    }
    if (file && fclose(file)) {
        free(made);
        made = NULL;
    }
    free(copy);
    if (made)
        mask_noncharacters(made);
    return made;
}
