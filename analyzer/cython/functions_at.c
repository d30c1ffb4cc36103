/* What machine.h finds, in the words of cython.h. */
#include "reports.h"

#include <stdio.h>
#include <stdlib.h>

/** Bytes of a path in front of its last part. */
#define FILE_SIZE_LIMIT 4096

static bool is_lambda(struct slice part)
{
    slice_skip(&part, "__pyx_lambda_funcdef_");
    return slice_is_counted(part, "lambda");
}

/** One component of a traceback's name as __qualname__ has it. */
static void add_component(struct text *text, struct slice part, struct slice outer)
{
    struct slice rest = part, specialization;
    if (slice_skip(&rest, "__pyx_fuse_") && parse_cython_specialization(&rest, &specialization) &&
        rest.size)
        part = rest;
    /* Cython 3.3 reports specialised cpdef functions by their C names. */
    rest = part;
    if (slice_skip(&rest, "__pyx_f_")) {
        struct cython_path path;
        parse_cython_path(rest, CYTHON_UNNUMBERED, NULL, &path);
        if (path.leaf.size)
            part = path.leaf;
    }
    if (is_lambda(part)) {
        text_add_string(text, "<lambda>");
        return;
    }
    if (slice_equals(part, "genexpr")) {
        text_add_string(text, "<genexpr>");
        return;
    }
    /* Private names are written with their class: _Cls__x. */
    while (outer.size && *outer.data == '_')
        outer = slice_from(outer, 1);
    if (outer.size && part.size > outer.size + 3 && part.data[0] == '_' &&
        memcmp(part.data + 1, outer.data, outer.size) == 0 &&
        memcmp(part.data + 1 + outer.size, "__", 2) == 0 && !slice_is_dunder(part))
        part = slice_from(part, 1 + outer.size);
    text_add(text, part.data, part.size);
}

/** Whole components of `name` that spell the module, by its dotted name or only by its last. */
static size_t module_prefix(struct slice name, const char *module)
{
    size_t size = module ? strlen(module) : 0;
    if (!size)
        return 0;
    if (name.size > size && name.data[size] == '.' && memcmp(name.data, module, size) == 0)
        return size + 1;
    const char *dot = strrchr(module, '.');
    struct slice last = slice_of(dot ? dot + 1 : module);
    for (size_t at = 0; at + last.size < name.size; at++)
        if ((at == 0 || name.data[at - 1] == '.') && name.data[at + last.size] == '.' &&
            memcmp(name.data + at, last.data, last.size) == 0)
            return at + last.size + 1;
    return 0;
}

/**
 * The same where another module's .pxd lies beside the file ("other.f" of "other.pxd"), or where
 * the module has no name of its own (`cython --embed`).
 */
static size_t stem_prefix(struct slice name, const char *file, bool own)
{
    const char *base = file ? path_base(file) : "", *dot = strrchr(base, '.');
    size_t size = dot && (own || strcmp(dot, ".pxd") == 0) ? (size_t)(dot - base) : 0;
    return size && size < name.size && name.data[size] == '.' && memcmp(name.data, base, size) == 0
               ? size + 1
               : 0;
}

/**
 * The same where a .pxd of another module was inlined: its packages are folders of the file, and
 * one more component is that module ("pkg.other.Cls.f" of "src/pkg/buffer.pxd").
 */
static size_t file_prefix(struct slice name, const char *file, bool own)
{
    struct slice folder = file ? path_directory(file) : (struct slice){0};
    size_t best = 0;
    for (size_t at = 0; at < folder.size; at++) {
        size_t size = folder.size - at;
        if ((at && folder.data[at - 1] != '/') || size >= name.size || name.data[size] != '.')
            continue;
        bool same = true;
        for (size_t i = 0; same && i < size; i++)
            same = name.data[i] == (folder.data[at + i] == '/' ? '.' : folder.data[at + i]);
        if (same) {
            best = size + 1;
            break;
        }
    }
    if (!best)
        return stem_prefix(name, file, own);
    if (strncmp(path_base(file), "__init__.", strlen("__init__.")) == 0)
        return best;
    const char *dot = memchr(name.data + best, '.', name.size - best);
    return dot ? (size_t)(dot + 1 - name.data) : 0;
}

const char *cython_traceback_function(const char *name, const char *module, const char *file,
                                      struct arena *arena)
{
    struct slice rest = slice_of(name);
    if (slice_starts(rest, "init "))
        return "<module>";
    size_t prefix = module_prefix(rest, module);
    rest = slice_from(rest, prefix ? prefix : file_prefix(rest, file, !module));
    struct text text = {0};
    struct slice outer = {0};
    while (rest.size) {
        const char *dot = memchr(rest.data, '.', rest.size);
        struct slice part = {rest.data, dot ? (size_t)(dot - rest.data) : rest.size};
        rest = slice_from(rest, dot ? part.size + 1 : part.size);
        /* The scopes of generator expressions are not Python's. */
        if (rest.size && slice_is_counted(part, "genexpr"))
            continue;
        if (text.size)
            text_add_char(&text, '.');
        add_component(&text, part, outer);
        outer = part;
    }
    const char *function = text.size && !text.failed ? arena_strdup(arena, text.data) : NULL;
    text_deinit(&text);
    return function;
}

/**
 * Cython's own code in Cython is of no file of anybody's: "stringsource", "(tree fragment)",
 * "<MemoryView>", "match_signatures_single" (of fused functions), "View.MemoryView",
 * "vector.from_py".
 */
static bool is_pyx_file(const char *file)
{
    static const char *const endings[] = {".MemoryView", ".from_py", ".to_py"};
    const char *dot = strrchr(path_base(file), '.');
    for (size_t i = 0; dot && i < PSC_ARRAY_SIZE(endings); i++)
        if (strcmp(dot, endings[i]) == 0)
            return false;
    return dot;
}

static bool is_boilerplate(const char *name, const char *file)
{
    static const char *const names[] = {"__pyx_fused_cpdef", "__reduce_cython__",
                                        "__setstate_cython__", "__pyx_unpickle_", ".__defaults__"};
    for (size_t i = 0; name && i < PSC_ARRAY_SIZE(names); i++)
        if (strstr(name, names[i]))
            return true;
    return (file && !is_pyx_file(file)) ||
           (name && strncmp(name, "View.MemoryView.", strlen("View.MemoryView.")) == 0);
}

static enum cython_kind kind_of(const char *name, const char *file)
{
    if (is_boilerplate(name, file))
        return CYTHON_PLUMBING;
    return name && strncmp(name, "init ", 5) == 0 ? CYTHON_MODULE : CYTHON_C_FUNCTION;
}

/**
 * Bodies of generators give their bare name; what makes the generator has the whole one. Without a
 * Cython module's name the module is mypyc's, where all names are bare.
 */
static const char *whole_name(const struct machine *machine, const char *module, const char *name)
{
    const char *whole = !module || strchr(name, '.') || strncmp(name, "init ", 5) == 0
                            ? NULL
                            : machine_find_whole_name(&machine->image, name);
    return whole ? whole : name;
}

static struct cython_code convert_report(const struct machine *machine,
                                         const struct machine_report *report, const char *module,
                                         struct arena *arena)
{
    struct cython_code code = {
        .kind = kind_of(report->name, report->file),
        .file = report->file,
        .line = report->line,
        .estimate = !report->direct,
    };
    /* Also what Cython does to set the module up, of which no line tells, is reported as line 1. */
    if (code.kind == CYTHON_MODULE && code.line == 1)
        code.estimate = true;
    if (report->name)
        code.function = cython_traceback_function(whole_name(machine, module, report->name), module,
                                                  report->file, arena);
    return code;
}

/** The name that a table has, with its class, and "__get__" of a property. */
static const char *table_function(const struct machine_identity *identity, const char *module,
                                  struct arena *arena)
{
    const char *accessor = identity->setter ? ".__set__" : ".__get__";
    const char *name = arena_printf(arena, "%s.%s%s", identity->type, identity->name,
                                    identity->property ? accessor : "");
    return name ? cython_traceback_function(name, module, NULL, arena) : NULL;
}

/** The string that ends in "/leaf.ending", or is that; NULL when there is none. */
static const char *find_file(const struct machine_image *image, const char *leaf,
                             const char *ending)
{
    char name[256];
    int size = snprintf(name, sizeof(name), "%s%s", leaf, ending);
    if (size <= 0 || (size_t)size >= sizeof(name))
        return NULL;
    for (size_t k = 0; k < image->segment_count; k++) {
        const struct machine_segment *segment = &image->segments[k];
        const char *bytes = (const char *)image->bytes + segment->offset;
        const char *end = bytes + segment->size;
        for (const char *at = bytes; !segment->writable && at < end; at++) {
            at = memmem(at, (size_t)(end - at), name, (size_t)size + 1);
            if (!at)
                break;
            const char *start = at;
            while (start > bytes && start[-1] && at - start < FILE_SIZE_LIMIT)
                start--;
            if (start == at || at[-1] == '/')
                return machine_string(image, segment->address + (uint64_t)(start - bytes));
        }
    }
    return NULL;
}

/**
 * The file of a module's body. Where compilers load it once for the whole body, what is found there
 * may be that of Cython's own code, "(tree fragment)".
 */
static const char *file_of_body(const struct machine *machine, const char *file, const char *module)
{
    if (!module || (file && is_pyx_file(file)))
        return file;
    const char *dot = strrchr(module, '.');
    const char *leaf = dot ? dot + 1 : module;
    const char *found = find_file(&machine->image, leaf, ".pyx");
    return found ? found : find_file(&machine->image, leaf, ".py");
}

static struct cython_code convert_identity(const struct machine *machine,
                                           const struct machine_identity *identity,
                                           const char *module, struct arena *arena)
{
    struct cython_code code = {
        .file = identity->file,
        .parallel = identity->parallel,
    };
    if (identity->name && strncmp(identity->name, "init ", 5) == 0)
        code.file = file_of_body(machine, identity->file, module);
    code.kind = kind_of(identity->name, code.file);
    if (identity->plumbing)
        code.kind = CYTHON_PLUMBING;
    else if (code.kind == CYTHON_C_FUNCTION && (identity->method || identity->pointed))
        code.kind = identity->method ? CYTHON_WRAPPER : CYTHON_SLOT;
    else if (code.kind == CYTHON_C_FUNCTION && identity->body)
        code.kind = CYTHON_BODY;
    if (!identity->name)
        return code;
    if (identity->bare && identity->type) {
        code.function = table_function(identity, module, arena);
        return code;
    }
    const char *whole = whole_name(machine, module, identity->name);
    code.function = cython_traceback_function(whole, module, identity->file, arena);
    return code;
}

/** Whether a report's bare name is that of a function whose class a table tells. */
static bool lacks_class(const struct cython_code *code, const struct cython_code *whole,
                        const struct machine_identity *identity)
{
    const char *leaf = whole->function ? strrchr(whole->function, '.') : NULL;
    return identity->type && leaf && code->function && strcmp(leaf + 1, code->function) == 0;
}

static bool same_function(const struct cython_code *a, const struct cython_code *b, bool bare)
{
    const char *leaf = a->function ? strrchr(a->function, '.') : NULL;
    return a->function && b->function &&
           (strcmp(a->function, b->function) == 0 ||
            (bare && leaf && strcmp(leaf + 1, b->function) == 0));
}

/** Gives a function a line that is near, when it tells none, or only the next one around a block.
 */
static void add_near_line(struct machine *machine, const char *module, uint64_t pc,
                          struct arena *arena, struct cython_code *code)
{
    const char *file = NULL;
    bool around = code->parallel || machine_is_block_call(machine, pc);
    if ((code->line && !(code->estimate && around)) || !code->function ||
        code->kind == CYTHON_PLUMBING)
        return;
    code->line =
        cython_machine_near_line(machine, module, code->function, pc, code->line, arena, &file);
    code->estimate = code->line != 0;
    if (code->line && file)
        code->file = file;
}

/** Whether an address is in a stub of the procedure linkage table: 16 bytes each. */
static bool is_stub(const struct machine *machine, uint64_t pc)
{
    uint64_t start = pc & ~(uint64_t)15;
    const struct machine_function *function = machine_find_function(&machine->image, pc);
    struct machine_target target = machine_target_of(&machine->image, start);
    /* All stubs are one function, if any; one that begins so is somebody's. */
    return (target.import || target.address != start) && (!function || function->start != start);
}

size_t cython_machine_find(struct machine *machine, const char *module_name, uint64_t pc,
                           struct arena *arena, struct cython_code *ret, size_t limit)
{
    struct machine_report reports[MACHINE_CHAIN_LIMIT];
    if (limit < 2)
        return 0;
    if (is_stub(machine, pc)) {
        ret[0] = (struct cython_code){.kind = CYTHON_PLUMBING};
        return 1;
    }
    size_t room = limit - 1 < MACHINE_CHAIN_LIMIT ? limit - 1 : MACHINE_CHAIN_LIMIT;
    size_t count = machine_find_reports(machine, pc, reports, room);
    struct machine_identity identity =
        machine_identify(machine, pc, count ? &reports[count - 1] : NULL);
    struct cython_code whole = convert_identity(machine, &identity, module_name, arena);
    for (size_t i = 0; i < count; i++)
        ret[i] = convert_report(machine, &reports[i], module_name, arena);
    if (!count) {
        add_near_line(machine, module_name, pc, arena, &whole);
        ret[0] = whole;
        return whole.function || whole.file || identity.plumbing ? 1 : 0;
    }
    struct cython_code *last = &ret[count - 1];
    if (!last->function || lacks_class(last, &whole, &identity)) {
        last->function = whole.function;
        last->kind = whole.kind;
    }
    if (!last->file && same_function(last, &whole, identity.bare))
        last->file = whole.file;
    if (whole.function && !same_function(last, &whole, identity.bare)) {
        /* Of a function that was inlined. What is only near the call is none of it. */
        if (ret[0].estimate)
            count = 0;
        add_near_line(machine, module_name, pc, arena, &whole);
        ret[count++] = whole;
    } else {
        /* A thread that waits in a block is in none of what was inlined into it. */
        if (whole.parallel && ret[0].estimate) {
            ret[0] = *last;
            last = &ret[0];
            count = 1;
        }
        last->parallel = whole.parallel;
        /* Cython's own code in Cython may be in that of the module. */
        if (last->kind == CYTHON_PLUMBING && whole.kind == CYTHON_MODULE)
            *last = whole;
        if (last->kind == CYTHON_C_FUNCTION && whole.kind != CYTHON_PLUMBING)
            last->kind = whole.kind;
        if (count == 1 || !last->line)
            add_near_line(machine, module_name, pc, arena, last);
    }
    return count;
}

bool cython_machine_is_mypyc(const struct machine *machine)
{
    return machine->mypyc;
}
