/* Locks of the module _thread, variables of contexts. */
#include "library.h"

#include <inttypes.h>
#include <stdio.h>

static void add_bare(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

/* Modules/_threadmodule.c, lock_repr(). */
static void add_lock(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint8_t locked;
    if (py_read_u8(writer->python, object, PY_LOCK_LOCKED, &locked) != PSC_OK)
        add_bare(writer, type, object);
    else
        text_printf(writer->text, "<%s %s object at 0x%" PRIx64 ">", locked ? "locked" : "unlocked",
                    type->c_name, object);
}

/* rlock_repr() there. */
static void add_rlock(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t owner;
    uint64_t count;
    if (py_read_u64(writer->python, object, PY_RLOCK_OWNER, &owner) != PSC_OK ||
        py_read_u64(writer->python, object, PY_RLOCK_COUNT, &count) != PSC_OK)
        add_bare(writer, type, object);
    else
        text_printf(writer->text,
                    "<%s %s object owner=%" PRId64 " count=%" PRIu64 " at 0x%" PRIx64 ">",
                    count ? "locked" : "unlocked", type->c_name, (int64_t)owner, count, object);
}

void value_add_lock(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    if (type->kind == PY_KIND_LOCK)
        add_lock(writer, type, object);
    else
        add_rlock(writer, type, object);
}

/* Python/context.c, contextvar_repr() and token_repr(). */
void value_open_context_variable(struct value_writer *writer, const struct py_type *type,
                                 psc_addr object)
{
    struct python *python = writer->python;
    char close[40];
    psc_addr name = 0;
    psc_addr otherwise = 0;
    psc_addr variable = 0;
    int32_t used = 0;
    bool token = type->kind == PY_KIND_CONTEXT_TOKEN;
    if (token ? py_read_u64(python, object, PY_TOKEN_VAR, &variable) != PSC_OK ||
                    py_read_i32(python, object, PY_TOKEN_USED, &used) != PSC_OK
              : py_read_u64(python, object, PY_CONTEXTVAR_NAME, &name) != PSC_OK ||
                    py_read_u64(python, object, PY_CONTEXTVAR_DEFAULT, &otherwise) != PSC_OK) {
        add_bare(writer, type, object);
        return;
    }
    snprintf(close, sizeof(close), " at 0x%" PRIx64 ">", object);
    struct value_level *level = value_push(
        writer, object, token ? (used ? "<Token used " : "<Token ") : "<ContextVar ", close);
    if (!level)
        return;
    level->separator = " ";
    value_take_word(writer, level, "var", variable);
    value_take_word(writer, level, "name", name);
    value_take_word(writer, level, "default", otherwise);
}
