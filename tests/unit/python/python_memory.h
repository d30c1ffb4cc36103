/** @file A target made of bytes in this program: objects of an interpreter, laid out by hand. */
#ifndef PYTHON_MEMORY_H
#define PYTHON_MEMORY_H

#include "frames.h"
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_BASE UINT64_C(0x10000)
#define MEMORY_SIZE ((size_t)256 * 1024)

/** One range of target memory at MEMORY_BASE; all else can not be read. */
struct memory {
    struct target target;
    struct python python;
    uint8_t bytes[MEMORY_SIZE];
    size_t used;
    bool peeks; /**< False: every read is a copy, as from a target that is in pieces. */
    psc_addr type_type, str_type, bytes_type, tuple_type, dict_type, int_type, code_type;
};

static inline const uint8_t *memory_peek(struct target *target, psc_addr address, size_t size)
{
    struct memory *memory = target->backend;
    if (address < MEMORY_BASE || size > MEMORY_SIZE || address - MEMORY_BASE > MEMORY_SIZE - size)
        return NULL;
    return memory->bytes + (address - MEMORY_BASE);
}

static inline const uint8_t *memory_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct memory *memory = target->backend;
    const uint8_t *bytes = memory->peeks ? memory_peek(target, address, 1) : NULL;
    *ret_size = bytes ? MEMORY_SIZE - (size_t)(address - MEMORY_BASE) : 0;
    return bytes;
}

static inline enum psc_status memory_read(struct target *target, psc_addr address, void *buffer,
                                          size_t size)
{
    const uint8_t *bytes = memory_peek(target, address, size);
    if (!bytes)
        return PSC_ERR_FAULT;
    memcpy(buffer, bytes, size);
    return PSC_OK;
}

static inline void memory_put(struct memory *memory, psc_addr address, uint64_t value, size_t width)
{
    memcpy(memory->bytes + (address - MEMORY_BASE), &value, width);
}

static inline void memory_put_field(struct memory *memory, psc_addr base, enum py_field field,
                                    uint64_t value)
{
    memory_put(memory, base + memory->python.layout.offset[field], value,
               layout_field_width(field));
}

static inline psc_addr memory_reserve(struct memory *memory, size_t size)
{
    psc_addr address = MEMORY_BASE + memory->used;
    memory->used += (size + 15) & ~(size_t)15;
    if (memory->used > MEMORY_SIZE)
        abort();
    return address;
}

static inline psc_addr memory_object(struct memory *memory, psc_addr type, size_t size)
{
    psc_addr address = memory_reserve(memory, size);
    memory_put_field(memory, address, PY_OBJECT_TYPE, type);
    return address;
}

static inline psc_addr memory_type(struct memory *memory, uint64_t flags)
{
    psc_addr type = memory_object(memory, memory->type_type, 1024);
    memory_put_field(memory, type, PY_TYPE_FLAGS, flags);
    return type;
}

/** A compact str of `width` bytes a character; `ascii` as the state has it. */
static inline psc_addr memory_string(struct memory *memory, const void *characters, size_t count,
                                     uint32_t width, bool ascii)
{
    const uint32_t *offset = memory->python.layout.offset;
    uint32_t data = offset[ascii ? PY_STR_ASCII_SIZE : PY_STR_COMPACT_SIZE];
    psc_addr string = memory_object(memory, memory->str_type, data + count * width);
    memory_put_field(memory, string, PY_STR_LENGTH, count);
    memory_put_field(memory, string, PY_STR_STATE,
                     (width | 8u | (ascii ? 16u : 0)) << memory->python.layout.string_kind_shift);
    memcpy(memory->bytes + (string + data - MEMORY_BASE), characters, count * width);
    return string;
}

static inline psc_addr memory_ascii(struct memory *memory, const char *text)
{
    return memory_string(memory, text, strlen(text), 1, true);
}

/** A code object with a name, and a line table for 3.11+: 100 units on the first line. */
static inline psc_addr memory_code(struct memory *memory, const char *name)
{
    static const uint8_t table[] = {0xef, 0x00}; /* no columns, 8 units */
    psc_addr code = memory_object(memory, memory->code_type, 512);
    psc_addr text = memory_ascii(memory, name);
    psc_addr lines = memory_object(memory, memory->bytes_type, 64);
    memory_put_field(memory, lines, PY_VAR_SIZE, sizeof(table));
    memcpy(memory->bytes + (py_field_address(&memory->python, lines, PY_BYTES_DATA) - MEMORY_BASE),
           table, sizeof(table));
    memory_put_field(memory, code, PY_CODE_NAME, text);
    memory_put_field(memory, code, PY_CODE_FILENAME, memory_ascii(memory, "file.py"));
    if (memory->python.layout.offset[PY_CODE_QUALNAME] != PY_NO_OFFSET)
        memory_put_field(memory, code, PY_CODE_QUALNAME, text);
    memory_put_field(memory, code, PY_CODE_LINES, lines);
    memory_put_field(memory, code, PY_CODE_FIRST_LINE, 7);
    return code;
}

static inline struct memory *memory_create(uint32_t hex)
{
    static const struct target_ops ops = {.read = memory_read, .piece = memory_piece};
    struct memory *memory = calloc(1, sizeof(*memory));
    struct python *python = &memory->python;
    if (!memory)
        abort();
    const struct py_rules *rules = layout_find_rules(hex);
    if (!rules || layout_from_table(rules, 16, 0, &python->layout) != PSC_OK)
        abort();
    memory->peeks = true;
    memory->target.ops = &ops;
    memory->target.machine = target_machine_here();
    memory->target.backend = memory;
    memory->target.arena = arena_create();
    warnings_init(&memory->target.warnings, memory->target.arena);
    python->target = &memory->target;
    python->arena = arena_create();
    if (handle_init(python) != PSC_OK)
        abort();
    memory->used = 16;
    memory->type_type = memory_type(memory, PY_FLAG_TYPE);
    memory_put_field(memory, memory->type_type, PY_OBJECT_TYPE, memory->type_type);
    memory->str_type = memory_type(memory, PY_FLAG_STR);
    memory->bytes_type = memory_type(memory, PY_FLAG_BYTES);
    memory->tuple_type = memory_type(memory, PY_FLAG_TUPLE);
    memory->dict_type = memory_type(memory, PY_FLAG_DICT);
    memory->int_type = memory_type(memory, PY_FLAG_INT);
    memory->code_type = memory_type(memory, 0);
    python->types.code = memory->code_type;
    frame_use_layout(python);
    return memory;
}

/** Gives a C type the name that values go by. */
static inline void memory_name_type(struct memory *memory, psc_addr type, const char *name)
{
    psc_addr text = memory_reserve(memory, strlen(name) + 1);
    memcpy(memory->bytes + (text - MEMORY_BASE), name, strlen(name) + 1);
    memory_put_field(memory, type, PY_TYPE_NAME, text);
}

static inline void memory_destroy(struct memory *memory)
{
    handle_deinit(&memory->python);
    warnings_deinit(&memory->target.warnings);
    arena_destroy(memory->target.arena);
    arena_destroy(memory->python.arena);
    free(memory);
}

#endif
