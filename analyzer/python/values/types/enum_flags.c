/* The names in a combination of enum.Flag, which up to 3.10 are not in the object itself. */
#include "types.h"

#include <inttypes.h>
#include <string.h>

#define MEMBER_LIMIT 4096u /* Of one class; each combination that was met is one. */
#define SHOWN_LIMIT  64u

struct flag {
    uint64_t value;
    psc_addr name; /* A str, or 0. */
};

/* The values that are within `value`, the greatest first. */
struct flags {
    struct flag shown[SHOWN_LIMIT];
    size_t count;
    uint64_t named; /* Bits of those that have a name. */
};

static void insert_flag(struct flags *flags, struct flag flag)
{
    size_t at = flags->count++;
    while (at && flags->shown[at - 1].value < flag.value)
        at--;
    memmove(&flags->shown[at + 1], &flags->shown[at],
            (flags->count - 1 - at) * sizeof(flags->shown[0]));
    flags->shown[at] = flag;
}

/* False when not all of the class's members can be told. */
static bool read_flags(struct python *python, const struct py_type *type, uint64_t value,
                       struct flags *ret)
{
    struct py_items items;
    psc_addr key;
    psc_addr member;
    enum psc_status status = PSC_OK;
    ret->count = 0;
    ret->named = 0;
    if (py_dict_open(python, type->members, &items) != PSC_OK || items.count > MEMBER_LIMIT ||
        !budget_spend(python, items.count))
        return false;
    while ((status = py_items_next(python, &items, &key, &member)) == PSC_OK) {
        struct flag flag;
        status = py_read_int(python, key, &flag.value);
        if (status == PSC_ERR_LIMIT) /* Less than 0, or greater than the value. */
            continue;
        if (status != PSC_OK || !value_find_attribute(python, type, member, "_name_", &flag.name))
            return false;
        if (!py_has_flags(python, flag.name, PY_FLAG_STR))
            flag.name = 0;
        if (!flag.value || (flag.value & value) != flag.value ||
            (!flag.name && flag.value & (flag.value - 1)))
            continue;
        if (ret->count == SHOWN_LIMIT)
            return false;
        if (flag.name)
            ret->named |= flag.value;
        insert_flag(ret, flag);
    }
    return status == PSC_ERR_NOT_FOUND;
}

/* From 3.9 on single bits without a name count only where no name has them. */
static void drop_covered(struct flags *flags)
{
    size_t kept = 0;
    for (size_t i = 0; i < flags->count; i++)
        if (flags->shown[i].name || !(flags->shown[i].value & flags->named))
            flags->shown[kept++] = flags->shown[i];
    flags->count = kept;
}

/* Lib/enum.py, Flag.__repr__() and _decompose(). */
void value_add_flag_names(struct value_writer *writer, const struct py_type *type, psc_addr number)
{
    struct python *python = writer->python;
    struct flags flags;
    uint64_t value;
    enum py_flag_names names = python->layout.rules->flag_names;
    if (!type->members || names == PY_FLAG_NAMES_KEPT ||
        py_read_int(python, number, &value) != PSC_OK || !read_flags(python, type, value, &flags))
        return;
    if (names == PY_FLAG_NAMES_COVERED)
        drop_covered(&flags);
    if (!flags.count)
        text_printf(writer->text, ".%" PRIu64, value);
    size_t first = flags.count > 1 && flags.shown[0].value == value;
    for (size_t i = first; i < flags.count; i++) {
        text_add_char(writer->text, i == first ? '.' : '|');
        if (flags.shown[i].name)
            value_add_name(writer, flags.shown[i].name);
        else
            text_printf(writer->text, "%" PRIu64, flags.shown[i].value);
    }
}
