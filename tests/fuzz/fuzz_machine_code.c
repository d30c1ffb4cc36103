/*
 * Hostile machine code. The input is code (and, behind it, the first function's length) that is
 * put into an otherwise sound extension: a call of PyTraceBack_Here, unwind table, relocations; its
 * second half also as a function that nothing calls, maybe the body of a parallel block.
 * Every second input is taken as the whole file instead.
 */
#include "machine_file.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_range(struct reports *reports, struct arena *arena, uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at += 7) {
        struct cython_code codes[8];
        struct code_question question = {reports, "pkg.mod", arena};
        size_t count = cython_functions_at(&question, at, codes, 8);
        if (count > 8)
            abort();
        (void)cython_is_own_code(reports_get_flow(reports), at);
        for (size_t i = 0; i < count; i++)
            if (codes[i].line && codes[i].line >= INT32_MAX)
                abort();
    }
}

static void ask(const uint8_t *bytes, size_t size, bool must_open)
{
    struct reports *reports = reports_create(bytes, size);
    struct arena *arena = arena_create();
    if (must_open && (!reports || reports_get_flow(reports)->helper_count == 0))
        abort();
    for (uint32_t label = 0; reports && label < 4; label++) {
        uint64_t call = reports_find_suspension(reports, CODE_AT + 0x100, label, 8 * label);
        if (call &&
            !code_is_same_function(&reports_get_flow(reports)->image, call, CODE_AT + 0x100))
            abort();
    }
    if (arena && reports) {
        ask_range(reports, arena, CODE_AT, CODE_AT + 0x140);
        ask_range(reports, arena, BODY_AT, BODY_AT + 0x40);
    }
    arena_destroy(arena);
    reports_destroy(reports);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1 << 16)
        return 0;
    if (data[0] & 1) {
        uint8_t *copy = malloc(size);
        if (copy) {
            memcpy(copy, data, size);
            ask(copy, size, false);
        }
        free(copy);
        return 0;
    }
    uint8_t *file = malloc(FILE_SIZE);
    if (file) {
        machine_file_make(file, data + 1, size - 1);
        if (data[0] & 2)
            machine_file_put_beginning(file);
        machine_file_put_body(file, data + 1 + size / 2, size - 1 - size / 2);
        ask(file, FILE_SIZE, true);
        /* Damage that the input chooses. */
        for (size_t i = 1; i + 2 < size && i < 24; i += 3)
            file[(data[i] | (unsigned)data[i + 1] << 8) % FILE_SIZE] = data[i + 2];
        ask(file, FILE_SIZE, false);
    }
    free(file);
    return 0;
}
