/* Files as compilers, linkers and packagers leave them: made here by the compilers found. */
#include "test_modules_self.h"

#include <elf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define BIAS UINT64_C(0x7f3400000000)

static const char source[] = "static volatile int sink;\n"                          /* 1 */
                             "static inline int twice(int x)\n"                     /* 2 */
                             "{\n"                                                  /* 3 */
                             "    sink = x;\n"                                      /* 4 */
                             "    return sink * 2;\n"                               /* 5 */
                             "}\n"                                                  /* 6 */
                             "int discarded(int x)\n"                               /* 7 */
                             "{\n"                                                  /* 8 */
                             "    return twice(x) + 1;\n"                           /* 9 */
                             "}\n"                                                  /* 10 */
                             "__attribute__((noinline)) static int marker(int x)\n" /* 11 */
                             "{\n"                                                  /* 12 */
                             "    return twice(x) + sink;\n"                        /* 13 */
                             "}\n"                                                  /* 14 */
                             "int (*volatile pointer)(int) = marker;\n"             /* 15 */
                             "int main(void)\n"                                     /* 16 */
                             "{\n"                                                  /* 17 */
                             "    return pointer(3);\n"                             /* 18 */
                             "}\n";                                                 /* 19 */

struct workplace {
    char directory[PATH_MAX];
};

static bool run(const struct workplace *work, const char *format, ...) PSC_PRINTF(2, 3);

static bool run(const struct workplace *work, const char *format, ...)
{
    char command[8192];
    int at = snprintf(command, sizeof(command), "cd '%s' && { ", work->directory);
    va_list args;
    va_start(args, format);
    at += vsnprintf(command + at, sizeof(command) - (size_t)at, format, args);
    va_end(args);
    snprintf(command + at, sizeof(command) - (size_t)at, "; } >/dev/null 2>&1");
    return system(command) == 0;
}

static int set_up(void **state)
{
    struct workplace *work = calloc(1, sizeof(*work));
    char directory[] = "/tmp/test_modules_XXXXXX";
    if (!work || !mkdtemp(directory) || !realpath(directory, work->directory))
        return -1;
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/prog.c", work->directory);
    FILE *file = fopen(path, "w");
    if (!file || fputs(source, file) < 0 || fclose(file) != 0)
        return -1;
    *state = work;
    return 0;
}

static int tear_down(void **state)
{
    struct workplace *work = *state;
    run(work, "rm -r '%s'", work->directory);
    free(work);
    return 0;
}

struct opened {
    struct target *target;
    struct modules *modules;
    struct module *module;
};

static struct opened open_program(const struct workplace *work, const char *name, psc_addr bias)
{
    char path[PATH_MAX + 64];
    struct opened opened = {NULL, NULL, NULL};
    snprintf(path, sizeof(path), "%s/%s", work->directory, name);
    opened.target = self_open_file(path, bias);
    assert_non_null(opened.target);
    opened.modules = self_modules(opened.target);
    assert_non_null(opened.modules);
    assert_int_equal(modules_count(opened.modules), 1);
    opened.module = modules_get(opened.modules, 0);
    assert_int_equal(opened.module->bias, bias);
    return opened;
}

static void close_program(struct opened *opened)
{
    modules_destroy(opened->modules);
    target_close(opened->target);
}

/** The lines and inlined calls of marker(), wherever each instruction of it stands. */
static void check_marker(const struct workplace *work, struct module *module, bool with_inlines)
{
    struct module_symbol marker;
    char expected[PATH_MAX + 16];
    snprintf(expected, sizeof(expected), "%s/prog.c", work->directory);
    assert_true(module_find_symbol_named(module, "marker", &marker));
    assert_in_range(marker.size, 1, 500);
    size_t inlined = 0;
    bool seen[20] = {false};
    for (uint64_t i = 0; i < marker.size; i++) {
        psc_addr address = marker.address + i;
        struct module_line line;
        struct module_symbol symbol;
        module_find_lines(module, &address, 1, &line);
        assert_non_null(line.file);
        assert_string_equal(line.file, expected);
        assert_in_range(line.line, 3, 14);
        assert_true(line.line < 7 || line.line > 10);
        seen[line.line] = true;
        assert_true(module_find_symbol(module, address, &symbol));
        assert_string_equal(symbol.name, "marker");

        struct module_inline calls[4];
        size_t count = module_find_inlines(module, address, calls, 4);
        assert_in_range(count, 0, 1);
        if (count) {
            assert_string_equal(calls[0].function, "twice");
            assert_non_null(calls[0].call_file);
            assert_string_equal(calls[0].call_file, expected);
            assert_int_equal(calls[0].call_line, 13);
            inlined++;
        }
    }
    assert_true(seen[13] && (!with_inlines || seen[4] || seen[5]));
    assert_true(!with_inlines || inlined > 0);
}

static void every_kind_of_debug_information(void **state)
{
    const struct workplace *work = *state;
    static const char *const compilers[] = {"gcc", "clang"};
    static const char *const flags[] = {
        "-gdwarf-2",
        "-gdwarf-3",
        "-gdwarf-4",
        "-gdwarf-5",
        "-gdwarf-5 -gdwarf64",
        "-gdwarf-4 -gdwarf64",
        "-gdwarf-4 -gz=zlib",
        "-gdwarf-5 -gz=zlib",
        "-gdwarf-4 -gz=zlib-gnu",
        "-g -ffunction-sections -Wl,--gc-sections",
        "-g -ffunction-sections -Wl,--gc-sections -Wl,-z,noseparate-code",
        "-g -O0",
        "-g -Wl,-z,noseparate-code",
        "-g -fuse-ld=gold",
        "-g -fuse-ld=lld",
        "-g -ffunction-sections -Wl,--gc-sections -fuse-ld=lld",
    };
    size_t checked = 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(compilers); i++) {
        for (size_t j = 0; j < PSC_ARRAY_SIZE(flags); j++) {
            if (!run(work, "%s -O1 -fpie -pie %s prog.c -o prog", compilers[i], flags[j])) {
                fprintf(stderr, "  SKIPPED: %s %s does not work here\n", compilers[i], flags[j]);
                continue;
            }
            fprintf(stderr, "  %s %s\n", compilers[i], flags[j]);
            struct opened opened = open_program(work, "prog", BIAS);
            module_open(opened.module);
            assert_true(opened.module->has_debug_info);
            check_marker(work, opened.module, !strstr(flags[j], "-O0"));
            close_program(&opened);
            checked++;
        }
    }
    fprintf(stderr, "  %zu kinds of files checked\n", checked);
    if (checked == 0)
        skip();
}

static void program_at_a_fixed_address(void **state)
{
    const struct workplace *work = *state;
    if (!run(work, "cc -O1 -g -fno-pie -no-pie prog.c -o fixed")) {
        fprintf(stderr, "  SKIPPED: cc does not work here\n");
        skip();
    }
    struct opened opened = open_program(work, "fixed", 0);
    assert_in_range(opened.module->start, 0x1000, 0x10000000);
    check_marker(work, opened.module, true);
    close_program(&opened);
}

/** Some strip the section headers too: what the loader sees is left. */
static void without_section_headers(void **state)
{
    static const char *const hash_tables[] = {"gnu", "sysv", "both"};
    static const size_t fields[] = {offsetof(Elf64_Ehdr, e_shoff), offsetof(Elf64_Ehdr, e_shnum),
                                    offsetof(Elf64_Ehdr, e_shstrndx)};
    const struct workplace *work = *state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(hash_tables); i++) {
        struct module_symbol whole, found;
        if (!run(work, "cc -O1 -shared -fPIC -Wl,--hash-style=%s prog.c -o whole",
                 hash_tables[i])) {
            fprintf(stderr, "  SKIPPED: cc does not work here\n");
            skip();
        }
        assert_true(run(work, "strip whole && cp whole bare"));
        for (size_t k = 0; k < PSC_ARRAY_SIZE(fields); k++)
            assert_true(run(work, "dd if=/dev/zero of=bare bs=1 seek=%zu count=%d conv=notrunc",
                            fields[k], k ? 2 : 8));
        struct opened opened = open_program(work, "whole", BIAS);
        assert_true(module_find_symbol_named(opened.module, "discarded", &whole));
        close_program(&opened);

        opened = open_program(work, "bare", BIAS);
        assert_true(module_find_symbol_named(opened.module, "discarded", &found));
        assert_int_equal(found.address, whole.address);
        assert_int_equal(found.size, whole.size);
        assert_true(module_find_symbol(opened.module, whole.address + whole.size - 1, &found));
        assert_string_equal(found.name, "discarded");
        assert_false(module_find_symbol_named(opened.module, "__cxa_finalize", &found));
        assert_true(module_imports(opened.module, "__cxa_finalize"));
        assert_false(module_imports(opened.module, "discarded"));
        close_program(&opened);
    }
}

/** One way to keep debug information apart, and the shell lines that make it. */
struct separate_case {
    const char *what;
    const char *commands;
    bool found;
};

#define KEEP "objcopy --only-keep-debug whole prog.debug && cp whole prog && strip -s prog"
#define LINK KEEP " && objcopy --add-gnu-debuglink=prog.debug prog"
#define BY_ID                                                                                  \
    "id=$(readelf -n whole | sed -n 's/.*Build ID: //p'); d=debug/.build-id/$(echo $id | cut " \
    "-c1-2); mkdir -p $d; f=$d/$(echo $id | cut -c3-).debug"

static void separate_debug_files(void **state)
{
    const struct workplace *work = *state;
    static const struct separate_case cases[] = {
        {"beside", LINK, true},
        {"in .debug", LINK " && mkdir .debug && mv prog.debug .debug", true},
        {"below the debug directory", LINK " && mkdir -p debug$PWD && mv prog.debug debug$PWD",
         true},
        {"by build-id", KEEP " && " BY_ID " && mv prog.debug $f", true},
        {"by build-id, compressed",
         KEEP " && objcopy --compress-debug-sections prog.debug && " BY_ID " && mv prog.debug $f",
         true},
        {"of another build",
         LINK " && gcc -O1 -g -fpie -pie -DX=1 -Wl,--build-id=0x12345678 prog.c -o other && "
              "objcopy --only-keep-debug other prog.debug",
         false},
        {"of another build, by build-id",
         KEEP " && gcc -O1 -g -fpie -pie -Wl,--build-id=0x12345678 prog.c -o other && " BY_ID
              " && objcopy --only-keep-debug other $f && rm prog.debug",
         false},
        {"without a build-id, beside", "objcopy --remove-section=.note.gnu.build-id whole && " LINK,
         true},
        {"without a build-id, wrong checksum",
         "objcopy --remove-section=.note.gnu.build-id whole && " LINK " && printf x >> prog.debug",
         false},
        {"none", KEEP " && rm prog.debug", false},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        run(work, "rm -rf prog whole other debug .debug prog.debug");
        if (!run(work, "gcc -O1 -g -fpie -pie prog.c -o whole && %s", cases[i].commands)) {
            fprintf(stderr, "  SKIPPED: no tools for a debug file %s\n", cases[i].what);
            continue;
        }
        fprintf(stderr, "  debug file %s\n", cases[i].what);
        struct opened opened = open_program(work, "prog", BIAS);
        char directory[PATH_MAX + 16];
        snprintf(directory, sizeof(directory), "%s/debug", work->directory);
        opened.target->options.debug_directory = directory;
        module_open(opened.module);
        struct module_symbol symbol;
        psc_addr address = opened.module->start;
        struct module_line line;
        assert_int_equal(opened.module->has_debug_info, cases[i].found);
        if (cases[i].found) {
            check_marker(work, opened.module, true);
        } else {
            assert_false(module_find_symbol_named(opened.module, "marker", &symbol));
            module_find_lines(opened.module, &address, 1, &line);
            assert_null(line.file);
        }
        close_program(&opened);
    }
}

/** A file that is too short, or full of nonsense behind its header, gives no answers. */
static void broken_files(void **state)
{
    const struct workplace *work = *state;
    if (!run(work, "cc -O1 -g -fpie -pie prog.c -o prog")) {
        fprintf(stderr, "  SKIPPED: cc does not work here\n");
        skip();
    }
    for (unsigned int seed = 0; seed < 100; seed++) {
        run(work, "cp prog broken");
        char path[PATH_MAX + 16];
        snprintf(path, sizeof(path), "%s/broken", work->directory);
        FILE *file = fopen(path, "r+");
        assert_non_null(file);
        fseek(file, 0, SEEK_END);
        long size = ftell(file);
        uint64_t random = seed * UINT64_C(2654435761) + 12345;
        for (int i = 0; i < 40; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* The ends of the file: headers, debug sections, section headers. */
            long at = (long)((random >> 20) % (uint64_t)(size - 64));
            if (at > 0x400 && at < 0x2000)
                at += 0x2000;
            fseek(file, at < size ? at : size - 1, SEEK_SET);
            fputc((int)(random >> 50) & 0xff, file);
        }
        fclose(file);
        if (seed % 3 == 0)
            assert_int_equal(truncate(path, size - (long)(random >> 40) % (size / 2)), 0);

        struct target *target = self_open_file(path, BIAS);
        struct modules *modules = self_modules(target);
        for (size_t i = 0; modules && i < modules_count(modules); i++) {
            struct module *module = modules_get(modules, i);
            module_open(module);
            psc_addr end = module->start + 0x5000;
            for (psc_addr address = module->start; address < end; address += 57) {
                struct module_symbol symbol;
                struct module_line line;
                struct module_inline calls[8];
                modules_find(modules, address);
                module_find_symbol(module, address, &symbol);
                if (address % 8 == 0) {
                    module_find_lines(module, &address, 1, &line);
                    module_find_inlines(module, address, calls, 8);
                }
            }
        }
        modules_destroy(modules);
        target_close(target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_debug_information),
        cmocka_unit_test(program_at_a_fixed_address),
        cmocka_unit_test(without_section_headers),
        cmocka_unit_test(separate_debug_files),
        cmocka_unit_test(broken_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
