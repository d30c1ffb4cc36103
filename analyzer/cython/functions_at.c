/* The functions at an address of a module, from its reports and tables. */
#include "cython_private.h"

static const struct code_image *image_of(const struct code_question *question)
{
    return &reports_get_flow(question->reports)->image;
}

static const char *function_name(const struct code_question *question, const char *name,
                                 const char *file)
{
    return cython_traceback_function(name, question->module, file, question->arena);
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
static const char *whole_name(const struct code_question *question, const char *name)
{
    const char *whole = !question->module || strchr(name, '.') || strncmp(name, "init ", 5) == 0
                            ? NULL
                            : reports_find_whole_name(image_of(question), name);
    return whole ? whole : name;
}

static struct cython_code convert_report(const struct code_question *question,
                                         const struct error_report *report)
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
        code.function = function_name(question, whole_name(question, report->name), report->file);
    return code;
}

/** The name that a table has, with its class, and "__get__" of a property. */
static const char *table_function(const struct code_question *question,
                                  const struct function_identity *identity)
{
    const char *accessor = identity->setter ? ".__set__" : ".__get__";
    const char *name = arena_printf(question->arena, "%s.%s%s", identity->type, identity->name,
                                    identity->property ? accessor : "");
    return name ? function_name(question, name, NULL) : NULL;
}

/**
 * The file of a module's body. Where compilers load it once for the whole body, what is found there
 * may be that of Cython's own code, "(tree fragment)".
 */
static const char *file_of_body(const struct code_question *question, const char *file)
{
    const char *module = question->module;
    if (!module || (file && is_pyx_file(file)))
        return file;
    const char *leaf = cython_last_part(module);
    const char *found = reports_find_file(image_of(question), leaf, ".pyx");
    return found ? found : reports_find_file(image_of(question), leaf, ".py");
}

static struct cython_code convert_identity(const struct code_question *question,
                                           const struct function_identity *identity)
{
    struct cython_code code = {
        .file = identity->file,
        .parallel = identity->parallel,
    };
    if (identity->name && strncmp(identity->name, "init ", 5) == 0)
        code.file = file_of_body(question, identity->file);
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
        code.function = table_function(question, identity);
        return code;
    }
    const char *whole = whole_name(question, identity->name);
    code.function = function_name(question, whole, identity->file);
    return code;
}

/** Whether a report's bare name is that of a function whose class a table tells. */
static bool lacks_class(const struct cython_code *code, const struct cython_code *whole,
                        const struct function_identity *identity)
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

/** Estimates a function's line when it tells none, or only the next one around a block. */
static void add_estimated_line(const struct code_question *question, uint64_t pc,
                               struct cython_code *code)
{
    const char *file = NULL;
    bool around = code->parallel || reports_is_block_call(reports_get_flow(question->reports), pc);
    if ((code->line && !(code->estimate && around)) || !code->function ||
        code->kind == CYTHON_PLUMBING)
        return;
    code->line = cython_estimate_line(question, code->function, pc, code->line, &file);
    code->estimate = code->line != 0;
    if (code->line && file)
        code->file = file;
}

/** Whether an address is in a stub of the procedure linkage table. */
static bool is_stub(const struct code_image *image, uint64_t pc)
{
    uint64_t start = pc & ~(uint64_t)(image->abi->stub_size - 1);
    const struct code_function *function = code_find_function(image, pc);
    struct code_target target = code_target_of(image, start);
    /* All stubs are one function, if any; one that begins so is somebody's. */
    return (target.import || target.address != start) && (!function || function->start != start);
}

size_t cython_functions_at(const struct code_question *question, uint64_t pc,
                           struct cython_code *ret, size_t limit)
{
    struct error_report chain[REPORTS_CHAIN_LIMIT];
    if (limit < 2)
        return 0;
    if (is_stub(image_of(question), pc)) {
        ret[0] = (struct cython_code){.kind = CYTHON_PLUMBING};
        return 1;
    }
    size_t room = limit - 1 < REPORTS_CHAIN_LIMIT ? limit - 1 : REPORTS_CHAIN_LIMIT;
    size_t count = reports_find(question->reports, pc, chain, room);
    struct function_identity identity =
        reports_identify(question->reports, pc, count ? &chain[count - 1] : NULL);
    struct cython_code whole = convert_identity(question, &identity);
    for (size_t i = 0; i < count; i++)
        ret[i] = convert_report(question, &chain[i]);
    if (!count) {
        add_estimated_line(question, pc, &whole);
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
        /* Of a function that was inlined. An estimate is none of it. */
        if (ret[0].estimate)
            count = 0;
        add_estimated_line(question, pc, &whole);
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
            add_estimated_line(question, pc, last);
    }
    return count;
}
