#include "frames_private.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE_LIMIT      (UINT64_C(64) << 20)
#define FUNCTION_ATTEMPTS     4u
#define NAME_BYTES_LIMIT      (64 << 20) /* Of the names of functions and files of all code. */
#define SHORT_NAME_LIMIT      40u        /* Characters of one once that many are read. */
#define FIRST_TRACEABLE_LIMIT 65536

/* ---- the tables ---- */

struct code_entry {
    psc_addr address;
    struct py_code *code;
};

struct position_entry {
    psc_addr code;
    uint64_t lasti;
    struct py_position position;
};

/* Of code objects of one file there are many. */
struct text_entry {
    psc_addr string;
    uint64_t limit;
    const char *text; /* NULL: it cannot be read. */
};

struct python_codes {
    struct hash_table codes;
    struct hash_table positions;
    struct hash_table texts;
    size_t text_bytes;
    psc_addr type; /* Of code objects; 0: not known. */
    uint32_t moment;
    bool changed; /* Some code was another one. */
};

enum psc_status python_codes_create(struct python *python)
{
    python->code_table = malloc(sizeof(*python->code_table));
    if (!python->code_table)
        return PSC_ERR_MEMORY;
    *python->code_table = (struct python_codes){.codes = HASH_TABLE_OF(struct code_entry),
                                                .positions = HASH_TABLE_OF(struct position_entry),
                                                .texts = HASH_TABLE_OF(struct text_entry)};
    return PSC_OK;
}

void python_codes_forget(struct python *python)
{
    hash_table_clear(&python->code_table->codes);
    hash_table_clear(&python->code_table->positions);
    hash_table_clear(&python->code_table->texts);
    python->code_table->text_bytes = 0;
    python->code_table->type = 0;
}

void python_codes_destroy(struct python *python)
{
    if (!python->code_table)
        return;
    hash_table_deinit(&python->code_table->codes);
    hash_table_deinit(&python->code_table->positions);
    hash_table_deinit(&python->code_table->texts);
    free(python->code_table);
    python->code_table = NULL;
}

/* ---- what an address is ---- */

/* Without the address of PyCode_Type: the members that every code object has. */
static bool looks_like_code(struct python *python, psc_addr address)
{
    static const enum py_field strings[] = {PY_CODE_FILENAME, PY_CODE_NAME};
    uint64_t text = 0;
    psc_addr member;
    switch (python->layout.rules->texts) {
    case PY_TEXTS_BYTES_AND_UNICODE:
        text = PY_FLAG_BYTES;
        break;
    case PY_TEXTS_STR:
        text = PY_FLAG_STR;
        break;
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(strings); i++)
        if (py_read_u64(python, address, strings[i], &member) != PSC_OK ||
            !py_has_flags(python, member, text))
            return false;
    return py_read_u64(python, address, PY_CODE_LINES, &member) == PSC_OK &&
           py_has_flags(python, member, PY_FLAG_BYTES);
}

static enum py_code_state read_state(struct python *python, psc_addr address)
{
    psc_addr type;
    if (!py_is_object_address(address))
        return PY_CODE_OTHER;
    enum psc_status status = py_read_u64(python, address, PY_OBJECT_TYPE, &type);
    if (status != PSC_OK)
        return PY_CODE_FAULT;
    psc_addr code_type = python->types.code ? python->types.code : python->code_table->type;
    if (code_type)
        return type == code_type ? PY_CODE_VALID : PY_CODE_OTHER;
    if (!looks_like_code(python, address))
        return PY_CODE_OTHER;
    python->code_table->type = type;
    return PY_CODE_VALID;
}

/* CPython 3.13, Python/specialize.c: _Py_InitCleanup has one string as name and file name. */
static bool is_init_cleanup(struct python *python, psc_addr address)
{
    psc_addr name;
    psc_addr file;
    return py_read_u64(python, address, PY_CODE_NAME, &name) == PSC_OK &&
           py_read_u64(python, address, PY_CODE_FILENAME, &file) == PSC_OK && name == file &&
           py_string_equals(python, name, "__init__");
}

static void read_code(struct python *python, struct py_code *code)
{
    int32_t flags = 0;
    int32_t traceable = 0;
    code->state = read_state(python, code->address);
    if (code->state != PY_CODE_VALID)
        return;
    if (py_read_i32(python, code->address, PY_CODE_FLAGS, &flags) != PSC_OK ||
        py_read_i32(python, code->address, PY_CODE_FIRST_LINE, &code->first_line) != PSC_OK) {
        code->state = PY_CODE_FAULT;
        return;
    }
    code->flags = (uint32_t)flags;
    code->start = py_field_address(python, code->address, PY_CODE_ADAPTIVE);
    if (py_read_i32(python, code->address, PY_CODE_FIRST_TRACEABLE, &traceable) == PSC_OK &&
        traceable > 0 && traceable < FIRST_TRACEABLE_LIMIT)
        code->first_traceable = PY_CODE_UNIT * (uint32_t)traceable;
    switch (python->layout.rules->shims) {
    case PY_SHIMS_NONE:
    case PY_SHIMS_OWNER:
        break;
    case PY_SHIMS_OWNER_INIT:
        code->interpreter_made = is_init_cleanup(python, code->address);
        break;
    }
}

static uint64_t read_identity(struct python *python, psc_addr address)
{
    static const enum py_field fields[] = {PY_OBJECT_TYPE, PY_CODE_NAME, PY_CODE_FILENAME,
                                           PY_CODE_LINES};
    uint64_t identity = 0, word;
    int32_t line;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(fields); i++)
        if (py_read_u64(python, address, fields[i], &word) == PSC_OK)
            identity = hash_pair(identity, word);
    if (py_read_i32(python, address, PY_CODE_FIRST_LINE, &line) == PSC_OK)
        identity = hash_pair(identity, (uint32_t)line);
    return identity;
}

/* Code that was found unchanged so often is looked at in every so manyth moment only. */
#define PROVEN_LIMIT 16

/*
 * Of code that is kept. Another code object in the same place has another name, file or table:
 * strings and bytes that only live as long as it does, or are shared by all that have them.
 */
static bool is_same_code(struct python *python, struct code_entry *entry)
{
    struct python_codes *table = python->code_table;
    struct py_code *code = entry->code;
    uint32_t age = table->moment - code->verified_at;
    if (!python->keeps_code || age < (code->proven < PROVEN_LIMIT ? 1 : PROVEN_LIMIT))
        return true;
    if (code->state == PY_CODE_VALID && read_identity(python, entry->address) == code->identity) {
        code->verified_at = table->moment;
        code->proven += code->proven < PROVEN_LIMIT;
        return true;
    }
    entry->code = NULL;
    // Positions are of the code that was there.
    hash_table_clear(&table->positions);
    table->changed = true;
    return false;
}

struct py_code *code_find(struct python *python, psc_addr address)
{
    struct hash_table *codes = &python->code_table->codes;
    struct code_entry *entry = hash_table_find(codes, address);
    if (entry && entry->code && is_same_code(python, entry)) {
        entry->code->met = true;
        return entry->code;
    }
    struct py_code *code = arena_alloc(python->arena, sizeof(*code));
    if (!entry)
        entry = code ? hash_table_add(codes, address) : NULL;
    if (!entry || !code)
        return NULL;
    entry->code = code;
    code->address = address;
    code->met = true;
    code->verified_at = python->code_table->moment;
    read_code(python, code);
    code->identity = python->keeps_code ? read_identity(python, address) : 0;
    return code;
}

bool python_are_codes_known(struct python *python, const psc_addr *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct code_entry *entry = hash_table_find(&python->code_table->codes, codes[i]);
        if (!entry || !entry->code || !is_same_code(python, entry))
            return false;
        entry->code->met = true;
    }
    return true;
}

void python_codes_check(struct python *python)
{
    struct hash_table *codes = &python->code_table->codes;
    python->code_table->moment++;
    for (size_t i = 0; i < codes->count; i++) {
        struct code_entry *entry = hash_table_at(codes, i);
        if (!entry->code || !entry->code->met)
            continue;
        entry->code->met = false;
        (void)is_same_code(python, entry);
    }
}

bool python_code_changed(struct python *python)
{
    bool changed = python->code_table->changed;
    python->code_table->changed = false;
    return changed;
}

/* ---- names ---- */

/* Objects may lie over each other, so that their texts have more bytes than the core. */
static const char *read_text(struct python *python, psc_addr string, size_t limit)
{
    struct python_codes *table = python->code_table;
    const char *text = NULL;
    if (table->text_bytes >= NAME_BYTES_LIMIT) {
        target_warn(python->target, "python-names",
                    "names of functions and files are cut: there are more than %d MB of them",
                    NAME_BYTES_LIMIT >> 20);
        limit = limit < SHORT_NAME_LIMIT ? limit : SHORT_NAME_LIMIT;
    }
    if (py_read_string(python, string, limit, &text) != PSC_OK)
        return NULL;
    table->text_bytes += strlen(text);
    return text;
}

static const char *read_name(struct python *python, psc_addr code, enum py_field field,
                             size_t limit)
{
    psc_addr string;
    if (py_read_u64(python, code, field, &string) != PSC_OK)
        return NULL;
    struct hash_table *texts = &python->code_table->texts;
    struct text_entry *entry = hash_table_find_pair(texts, string, limit);
    if (entry)
        return entry->text;
    const char *text = read_text(python, string, limit);
    entry = hash_table_add_pair(texts, string, limit);
    if (entry)
        entry->text = text;
    return text;
}

static void read_names(struct python *python, struct py_code *code)
{
    code->names_read = true;
    code->name = read_name(python, code->address, PY_CODE_NAME, PY_NAME_LIMIT);
    code->file = read_name(python, code->address, PY_CODE_FILENAME, PY_PATH_LIMIT);
    code->function = read_name(python, code->address, PY_CODE_QUALNAME, PY_NAME_LIMIT);
}

/* Before co_qualname the frame may tell; one whose arguments are cleared does not. */
static void find_function(struct python *python, struct py_code *code, psc_addr frame)
{
    if (code->function || code->function_attempts >= FUNCTION_ATTEMPTS)
        return;
    code->function_attempts++;
    code->function = function_name_read(python, frame, code->address);
}

/* ---- positions ---- */

static enum psc_status read_table(struct python *python, struct py_code *code)
{
    psc_addr bytes;
    uint64_t size;
    code->table_read = true;
    enum psc_status status = py_read_u64(python, code->address, PY_CODE_LINES, &bytes);
    if (status != PSC_OK)
        return status;
    if (!py_has_flags(python, bytes, PY_FLAG_BYTES))
        return PSC_ERR_FORMAT;
    status = py_read_u64(python, bytes, PY_VAR_SIZE, &size);
    if (status != PSC_OK)
        return status;
    if (size > TABLE_SIZE_LIMIT)
        return PSC_ERR_LIMIT;
    psc_addr data = py_field_address(python, bytes, PY_BYTES_DATA);
    code->table = python->keeps_code ? NULL : target_peek(python->target, data, (size_t)size);
    if (!code->table && size) {
        uint8_t *copy = arena_alloc(python->arena, (size_t)size);
        if (!copy)
            return PSC_ERR_MEMORY;
        status = target_read(python->target, data, copy, (size_t)size);
        if (status != PSC_OK)
            return status;
        code->table = copy;
    }
    code->table_size = (size_t)size;
    return PSC_OK;
}

static void parse_position(struct python *python, struct py_code *code, int32_t lasti,
                           struct py_position *ret)
{
    *ret = (struct py_position){.column = -1, .end_column = -1};
    if (!code->table_read && read_table(python, code) != PSC_OK)
        code->table = NULL;
    if (!code->table && code->table_size == 0 && lasti >= 0)
        return;
    switch (python->layout.rules->lines) {
    case PY_LINES_LNOTAB_UNSIGNED:
        ret->line = parse_lnotab(code->table, code->table_size, code->first_line, lasti, false);
        break;
    case PY_LINES_LNOTAB:
        ret->line = parse_lnotab(code->table, code->table_size, code->first_line, lasti, true);
        break;
    case PY_LINES_310:
        ret->line = parse_linetable_310(code->table, code->table_size, code->first_line, lasti);
        break;
    case PY_LINES_LOCATIONS:
        parse_locations_311(code->table, code->table_size, code->first_line, lasti, ret);
        break;
    }
}

static const struct py_position *find_position(struct python *python, struct py_code *code,
                                               int32_t lasti)
{
    struct hash_table *positions = &python->code_table->positions;
    struct position_entry *entry = hash_table_find_pair(positions, code->address, (uint32_t)lasti);
    if (!entry) {
        entry = hash_table_add_pair(positions, code->address, (uint32_t)lasti);
        if (!entry)
            return NULL;
        parse_position(python, code, lasti, &entry->position);
    }
    return &entry->position;
}

enum psc_status python_read_location(struct python *python, const struct python_frame *frame,
                                     struct python_location *ret)
{
    *ret = (struct python_location){.column = -1, .end_column = -1};
    if (!frame->code)
        return PSC_ERR_NOT_FOUND;
    struct py_code *code = code_find(python, frame->code);
    if (!code)
        return PSC_ERR_MEMORY;
    switch (code->state) {
    case PY_CODE_VALID:
        break;
    case PY_CODE_FAULT:
        return PSC_ERR_FAULT;
    case PY_CODE_OTHER:
        return PSC_ERR_FORMAT;
    }
    if (!code->names_read)
        read_names(python, code);
    if (!frame->compiled)
        find_function(python, code, frame->address);
    const struct py_position *position = find_position(python, code, frame->lasti);
    if (!position)
        return PSC_ERR_MEMORY;
    ret->name = code->name;
    ret->function = code->function ? code->function : code->name;
    ret->file = code->file;
    ret->line = position->line;
    ret->end_line = position->end_line;
    ret->column = position->column;
    ret->end_column = position->end_column;
    if (frame->compiled && frame->line)
        *ret = (struct python_location){.name = ret->name,
                                        .function = ret->function,
                                        .file = ret->file,
                                        .line = (uint32_t)frame->line,
                                        .column = -1,
                                        .end_column = -1};
    return PSC_OK;
}

const struct py_code *code_find_named(struct python *python, psc_addr address)
{
    struct py_code *code = address ? code_find(python, address) : NULL;
    if (!code || code->state != PY_CODE_VALID)
        return NULL;
    if (!code->names_read)
        read_names(python, code);
    return code->name && code->file ? code : NULL;
}

bool code_is(const struct py_code *code, const char *file, const char *name)
{
    size_t size = strlen(code->file);
    size_t end = strlen(file);
    return !strcmp(code->name, name) && size > end && code->file[size - end - 1] == '/' &&
           !strcmp(code->file + size - end, file);
}
