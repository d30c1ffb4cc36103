/*
 * For tests/accuracy/cython_names.py and cython_truth.py: shows what room `cython` makes of symbols
 * and of generated C.
 *
 *     cython_tool names MODULE < SYMBOLS     symbol, kind, module, function, flags
 *     cython_tool lines FILE.c               C line, file, line
 *     cython_tool code FILE.so MODULE < ADDRESSES   address, then function, file, line for each
 * level
 */
#include "cython_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS_EACH 1000000u

static const char *const kinds[] = {
    [CYTHON_NONE] = "none",           [CYTHON_WRAPPER] = "wrapper",
    [CYTHON_BODY] = "body",           [CYTHON_C_FUNCTION] = "c-function",
    [CYTHON_GENERATOR] = "generator", [CYTHON_MODULE] = "module",
    [CYTHON_SLOT] = "slot",           [CYTHON_PLUMBING] = "plumbing",
};

static const char *or_dash(const char *string)
{
    return string ? string : "-";
}

static void show_name(const char *symbol, const struct cython_context *context)
{
    struct arena *arena = arena_create();
    struct cython_name name;
    if (arena && cython_parse_symbol(symbol, context, arena, &name))
        printf("%s\t%s\t%s\t%s\t%s%s%s\n", symbol, kinds[name.kind], or_dash(name.module),
               name.function, or_dash(name.specialization), name.parallel ? " parallel" : "",
               name.boilerplate ? " boilerplate" : "");
    else
        printf("%s\tnone\t-\t-\t-\n", symbol);
    arena_destroy(arena);
}

static int show_names(const char *module_name)
{
    char **symbols = NULL;
    size_t count = 0;
    size_t capacity = 0;
    size_t size = 0;
    char *line = NULL;
    struct cython_names names = {0};
    struct cython_context context = {.module_name = *module_name ? module_name : NULL};
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (!array_reserve((void **)&symbols, &capacity, count + 1, sizeof(*symbols)) ||
            !cython_names_add(&names, line))
            return 1;
        symbols[count++] = line;
        line = NULL;
        size = 0;
    }
    cython_names_sort(&names);
    cython_names_bind(&names, &context);
    context.complete = true;
    for (size_t i = 0; i < count; i++) {
        show_name(symbols[i], &context);
        free(symbols[i]);
    }
    free(symbols);
    free(line);
    cython_names_deinit(&names);
    return 0;
}

static int show_lines(const char *path)
{
    struct stat status;
    struct cython_lines *lines;
    struct cython_line line;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)status.st_size;
    const char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (text == MAP_FAILED || parse_cython_lines(text, size, &lines) != PSC_OK)
        return 1;
    uint32_t count = 1;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    for (uint32_t c_line = 1; c_line <= count; c_line++) {
        if (cython_lines_get(lines, c_line, &line))
            printf("%u\t%s\t%u\n", c_line, line.file, line.line);
    }
    cython_lines_destroy(lines);
    munmap((void *)(uintptr_t)text, size);
    return 0;
}

static void show_code(struct reports *reports, const char *module, uint64_t address)
{
    struct cython_code levels[32];
    struct arena *arena = arena_create();
    struct code_question question = {reports, module, arena};
    size_t count = cython_functions_at(&question, address, levels, 32);
    printf("%" PRIx64, address);
    for (size_t i = 0; i < count; i++)
        printf("\t%s%s %s:%s%u%s", levels[i].kind == CYTHON_PLUMBING ? "-" : "",
               or_dash(levels[i].function), or_dash(levels[i].file), levels[i].estimate ? "~" : "",
               levels[i].line, levels[i].parallel ? " parallel" : "");
    putchar('\n');
    arena_destroy(arena);
}

static int show_codes(const char *path, const char *module)
{
    struct stat status;
    uint64_t address;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)status.st_size;
    const uint8_t *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    struct reports *reports = bytes == MAP_FAILED ? NULL : reports_create(bytes, size);
    if (!reports) {
        fprintf(stderr, "%s: nothing of Cython's in it\n", path);
        return 1;
    }
    const struct flow *flow = reports_get_flow(reports);
    fprintf(stderr, "%zu functions, %zu pointers, %zu traceback helpers\n",
            flow->image.function_count, flow->image.pointer_count, flow->helper_count);
    while (reports && scanf("%" SCNx64, &address) == 1) {
        show_code(reports, module, address);
        /* Nobody else asks for thousands of addresses; a module's steps are counted. */
        if (reports_get_flow(reports)->steps > STEPS_EACH) {
            reports_destroy(reports);
            reports = reports_create(bytes, size);
        }
    }
    reports_destroy(reports);
    munmap((void *)(uintptr_t)bytes, size);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "names") == 0)
        return show_names(argv[2]);
    if (argc == 3 && strcmp(argv[1], "lines") == 0)
        return show_lines(argv[2]);
    if (argc == 4 && strcmp(argv[1], "code") == 0)
        return show_codes(argv[2], argv[3]);
    fprintf(stderr, "usage: cython_tool names MODULE < SYMBOLS | cython_tool lines FILE.c | "
                    "cython_tool code FILE.so MODULE < ADDRESSES\n");
    return 64;
}
