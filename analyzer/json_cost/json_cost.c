#include "json_cost.h"

/* Of jansson 2.14: json_object_t with its first table, json_array_t with its first 8 items, a value
 * with its place in one of them. */
#define OBJECT_COST 200
#define ARRAY_COST  140
#define VALUE_COST  70

static size_t cost_of(char byte)
{
    switch (byte) {
    case '{':
        return OBJECT_COST;
    case '[':
        return ARRAY_COST;
    case ',':
    case ':':
        return VALUE_COST;
    default:
        return 0;
    }
}

static uint64_t excess_of(const char *text, size_t size)
{
    uint64_t cost = 0, depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            cost += cost_of(text[i]);
        if (quoted)
            continue;
        depth += text[i] == '{' || text[i] == '[';
        // Another one may follow.
        if ((text[i] == '}' || text[i] == ']') && depth && !--depth)
            size = i;
    }
    const uint64_t free_cost = (uint64_t)size * JSON_COST_PER_BYTE;
    return cost > free_cost ? cost - free_cost : 0;
}

bool json_is_affordable(const char *text, size_t size)
{
    return excess_of(text, size) <= JSON_COST_LIMIT;
}

bool json_are_affordable(const char *text, size_t size, uint64_t *excess)
{
    *excess += excess_of(text, size);
    return *excess <= JSON_COST_LIMIT;
}
