/*
 * Lines and inlined calls against libdw, on every interpreter found here:
 * ~/.pyenv/versions, PATH, and this process's own C library.
 */
#include "test_modules_self.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#define LINE_SAMPLES   2500
#define INLINE_SAMPLES 250
#define PATH_LIMIT     64
#define BIAS           UINT64_C(0x7f1200000000)

struct paths {
    char *items[PATH_LIMIT];
    size_t count;
};

static void add_path(struct paths *paths, const char *path)
{
    char *real = realpath(path, NULL);
    for (size_t i = 0; real && i < paths->count; i++) {
        if (strcmp(paths->items[i], real) == 0) {
            free(real);
            return;
        }
    }
    if (real && paths->count < PATH_LIMIT)
        paths->items[paths->count++] = real;
    else
        free(real);
}

static void add_pattern(struct paths *paths, const char *root, const char *pattern)
{
    char text[4096];
    glob_t found;
    snprintf(text, sizeof(text), "%s/%s", root, pattern);
    if (glob(text, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_path(paths, found.gl_pathv[i]);
    globfree(&found);
}

static void find_interpreters(struct paths *paths)
{
    const char *home = getenv("HOME");
    if (home) {
        add_pattern(paths, home, ".pyenv/versions/*/lib/libpython[23].*.so.*");
        add_pattern(paths, home, ".pyenv/versions/*/bin/python[23].[0-9]*[0-9]");
    }
    char *path = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin");
    for (char *rest = path, *root; (root = strsep(&rest, ":")) != NULL;)
        add_pattern(paths, root, "python3.[0-9]*[0-9]");
    free(path);
    add_pattern(paths, "/lib", "*/libc.so.6");
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

struct functions {
    struct module_symbol *items;
    size_t count;
    size_t capacity;
};

static bool collect(void *context, const struct module_symbol *symbol)
{
    struct functions *functions = context;
    if (symbol->size == 0)
        return true;
    void *items = functions->items;
    assert_true(array_reserve(&items, &functions->capacity, functions->count + 1, sizeof(*symbol)));
    functions->items = items;
    functions->items[functions->count++] = *symbol;
    return true;
}

/** Absolute, with "." components cut out, as this room gives names. */
static void normalize(Dwarf_Die *unit, const char *name, char *ret, size_t size)
{
    char joined[8192];
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    /* From DWARF 5 on, libdw's name begins with that directory. */
    if (name[0] == '/' || (directory && strncmp(name, directory, strlen(directory)) == 0))
        directory = NULL;
    snprintf(joined, sizeof(joined), "%s%s%s", directory ? directory : "", directory ? "/" : "",
             name);
    assert_true(strlen(joined) < size);
    const char *path = joined;
    if (strncmp(path, "./", 2) == 0)
        path += 2;
    char *out = ret;
    while (*path) {
        if (path[0] == '/' && (path[1] == '/' || (path[1] == '.' && path[2] == '/')))
            path += path[1] == '/' ? 1 : 2;
        else
            *out++ = *path++;
    }
    *out = '\0';
}

static bool equals_libdw(Dwarf *dwarf, uint64_t address, const struct module_line *line,
                         bool report)
{
    Dwarf_Die unit;
    Dwarf_Line *found = NULL;
    const char *file = NULL;
    int number = 0;
    if (dwarf_addrdie(dwarf, address, &unit))
        found = dwarf_getsrc_die(&unit, address);
    if (found) {
        dwarf_lineno(found, &number);
        file = dwarf_linesrc(found, NULL, NULL);
    }
    char expected[8192] = "";
    if (file && number)
        normalize(&unit, file, expected, sizeof(expected));
    bool equal = (line->file ? strcmp(line->file, expected) == 0 : !expected[0]) &&
                 (int)line->line == (expected[0] ? number : 0);
    if (!equal && report)
        fprintf(stderr, "    0x%llx: %s:%u, libdw %s:%d\n", (unsigned long long)address,
                line->file ? line->file : "-", line->line, expected, number);
    return equal;
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void check_lines(struct module *module, const struct functions *functions)
{
    psc_addr addresses[LINE_SAMPLES];
    struct module_line lines[LINE_SAMPLES];
    uint64_t random = functions->count;
    for (size_t i = 0; i < LINE_SAMPLES; i++) {
        const struct module_symbol *symbol =
            &functions->items[next_random(&random) % functions->count];
        addresses[i] = symbol->address + next_random(&random) % symbol->size;
    }
    double begin = milliseconds();
    module_find_lines(module, addresses, 40, lines);
    double some = milliseconds();
    module_find_lines(module, addresses, LINE_SAMPLES, lines);
    double all = milliseconds();

    Dwarf *dwarf = module_dwarf(module);
    size_t equal = 0;
    size_t found = 0;
    for (size_t i = 0; i < LINE_SAMPLES; i++) {
        equal += equals_libdw(dwarf, addresses[i] - module->bias, &lines[i], i + 1 - equal < 10);
        found += lines[i].file != NULL;
    }
    fprintf(stderr, "    lines: %zu of %d equal libdw's (%zu found); 40 in %.2f ms, all in %.2f\n",
            equal, LINE_SAMPLES, found, some - begin, all - some);
    assert_true(equal * 1000 >= LINE_SAMPLES * (size_t)999);
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    return name ? name : dwarf_diename(die);
}

static bool inlines_equal_libdw(Dwarf *dwarf, uint64_t address, const struct module_inline *calls,
                                size_t count)
{
    Dwarf_Die unit;
    Dwarf_Die *scopes = NULL;
    size_t expected = 0;
    bool equal = true;
    int scope_count =
        dwarf_addrdie(dwarf, address, &unit) ? dwarf_getscopes(&unit, address, &scopes) : 0;
    if (scope_count > 0) {
        Dwarf_Die innermost = scopes[0];
        free(scopes);
        scope_count = dwarf_getscopes_die(&innermost, &scopes);
    }
    for (int i = 0; i < scope_count; i++) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        Dwarf_Attribute attribute;
        Dwarf_Word line = 0;
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line);
        equal = equal && expected < count &&
                strcmp(calls[expected].function, name_of(&scopes[i])) == 0 &&
                calls[expected].call_line == line && calls[expected].call_file;
        expected++;
    }
    if (scope_count > 0)
        free(scopes);
    return equal && expected == count;
}

static void check_inlines(struct module *module, const struct functions *functions)
{
    uint64_t random = 77;
    size_t equal = 0;
    size_t levels = 0;
    double spent = 0;
    for (size_t i = 0; i < INLINE_SAMPLES; i++) {
        const struct module_symbol *symbol =
            &functions->items[next_random(&random) % functions->count];
        psc_addr address = symbol->address + next_random(&random) % symbol->size;
        struct module_inline calls[64];
        double begin = milliseconds();
        size_t count = module_find_inlines(module, address, calls, PSC_ARRAY_SIZE(calls));
        spent += milliseconds() - begin;
        levels += count;
        bool same = inlines_equal_libdw(module_dwarf(module), address - module->bias, calls, count);
        if (!same && i + 1 - equal < 10)
            fprintf(stderr, "    0x%llx: %zu inlined calls, libdw differs\n",
                    (unsigned long long)(address - module->bias), count);
        equal += same;
    }
    fprintf(stderr, "    inlined calls: %zu of %d equal libdw's (%zu levels); %.2f ms\n", equal,
            INLINE_SAMPLES, levels, spent);
    assert_int_equal(equal, INLINE_SAMPLES);
}

/** True when the file had debug information to compare with. */
static bool check_file(const char *path)
{
    struct target *target = self_open_file(path, BIAS);
    struct modules *modules = target ? self_modules(target) : NULL;
    bool checked = false;
    if (modules && modules_count(modules) == 1) {
        struct module *module = modules_get(modules, 0);
        struct functions functions = {NULL, 0, 0};
        struct module_symbol symbol;
        module_open(module);
        double begin = milliseconds();
        module_find_symbol(module, module->start, &symbol);
        double end = milliseconds();
        module_each_symbol(module, collect, &functions);
        fprintf(stderr, "  %s\n    %zu functions in %.2f ms\n", path, functions.count, end - begin);
        if (module->has_debug_info && functions.count) {
            check_lines(module, &functions);
            check_inlines(module, &functions);
            checked = true;
        }
        free(functions.items);
    }
    modules_destroy(modules);
    target_close(target);
    if (!checked)
        fprintf(stderr, "  SKIPPED: %s: no debug information to compare with\n", path);
    return checked;
}

static void lines_and_inlines_equal_libdw(void **state)
{
    (void)state;
    struct paths paths = {.count = 0};
    size_t checked = 0;
    find_interpreters(&paths);
    for (size_t i = 0; i < paths.count; i++) {
        checked += check_file(paths.items[i]);
        free(paths.items[i]);
    }
    fprintf(stderr, "  %zu files compared, %zu skipped\n", checked, paths.count - checked);
    if (checked == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_and_inlines_equal_libdw)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
