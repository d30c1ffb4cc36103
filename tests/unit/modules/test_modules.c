/* modules/ on this very process, where the loader and the compiler know the answers. */
#include "test_modules_self.h"

#include <gnu/libc-version.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void *text_address(void *(*function)(void))
{
    return (void *)(uintptr_t)function;
}

/** The address of the call, as a stack walk has it. */
__attribute__((noinline)) static void *here(void)
{
    return (char *)__builtin_extract_return_addr(__builtin_return_address(0)) - 1;
}

static volatile unsigned int sink;

static unsigned int inner_line, outer_line;
__attribute__((always_inline)) static inline void *inner_inlined(void)
{
    void *address = here();
    sink++;
    return address;
}

__attribute__((always_inline)) static inline void *outer_inlined(void)
{
    inner_line = __LINE__ + 1;
    void *address = inner_inlined();
    sink++;
    return address;
}

__attribute__((noinline)) static void *physical_function(void)
{
    outer_line = __LINE__ + 1;
    void *address = outer_inlined();
    sink++;
    return address;
}

static struct module *find_module(struct modules *modules, const void *address)
{
    return modules_find(modules, (uintptr_t)address);
}

struct expected_modules {
    struct modules *modules;
    size_t seen;
};

/** The loader's own list: every object of it has to be there, at its bias. */
static int check_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct expected_modules *expected = context;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        psc_addr address = info->dlpi_addr + segment->p_vaddr;
        struct module *module = modules_find(expected->modules, address);
        if (segment->p_type == PT_LOAD) {
            assert_non_null(module);
            assert_int_equal(module->bias, info->dlpi_addr);
            assert_ptr_equal(modules_find(expected->modules, address + segment->p_memsz - 1),
                             module);
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            assert_non_null(module);
            assert_int_equal(module->eh_frame_hdr, address);
            assert_int_equal(module->eh_frame_table, address + 12);
            assert_int_equal(module->eh_frame_entries, load_u32((const char *)address + 8));
        }
    }
    expected->seen++;
    return 0;
}

static void modules_are_the_loaders(void **state)
{
    (void)state;
    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    assert_non_null(modules);
    struct expected_modules expected = {modules, 0};
    dl_iterate_phdr(check_loaded, &expected);
    assert_int_equal(modules_count(modules), expected.seen);

    struct module *self = find_module(modules, text_address(here));
    assert_true(self->is_executable_file);
    assert_string_equal(self->name, program_invocation_short_name);
    assert_non_null(self->build_id_hex);
    struct module *libc = find_module(modules, (void *)(uintptr_t)printf);
    assert_non_null(libc);
    assert_false(libc->is_executable_file);
    assert_int_equal(target->warnings.count, 0);
    modules_destroy(modules);
    target_close(target);
}

/** Mapping a library to read it, or parts of it, does not load it. */
static void file_mapped_to_be_read_is_no_module(void **state)
{
    (void)state;
    Dl_info info;
    assert_true(dladdr((void *)(uintptr_t)printf, &info));
    int fd = open(info.dli_fname, O_RDONLY);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    void *whole = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    void *behind = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    close(fd);

    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    assert_null(find_module(modules, whole));
    assert_null(find_module(modules, page));
    assert_null(find_module(modules, behind));
    assert_non_null(find_module(modules, (void *)(uintptr_t)printf));
    modules_destroy(modules);

    /* As gcore tells it: no permissions. */
    for (size_t i = 0; i < target->mapping_count; i++)
        target->mappings[i].permissions_known = target->mappings[i].executable = false;
    modules = self_modules(target);
    assert_null(find_module(modules, whole));
    assert_null(find_module(modules, page));
    assert_non_null(find_module(modules, (void *)(uintptr_t)printf));
    modules_destroy(modules);
    target_close(target);
    munmap(whole, (size_t)status.st_size);
    munmap(page, 4096);
    munmap(behind, 8192);
}

static void symbols_are_the_loaders(void **state)
{
    (void)state;
    static const char *const names[] = {"malloc",         "printf",  "qsort",
                                        "pthread_create", "environ", "getaddrinfo"};
    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        void *address = dlsym(RTLD_DEFAULT, names[i]);
        assert_non_null(address);
        struct module *module = find_module(modules, address);
        struct module_symbol symbol;
        assert_non_null(module);
        assert_true(module_find_symbol_named(module, names[i], &symbol));
        assert_int_equal(symbol.address, (uintptr_t)address);
        assert_string_equal(symbol.name, names[i]);
        if (strcmp(names[i], "environ") == 0)
            continue;
        assert_true(module_find_symbol(module, (uintptr_t)address + 3, &symbol));
        assert_int_equal(symbol.address, (uintptr_t)address);
        assert_null(strchr(symbol.name, '@'));
    }
    struct module *self = find_module(modules, text_address(here));
    struct module_symbol symbol;
    assert_true(module_find_symbol(self, (uintptr_t)text_address(here), &symbol));
    assert_string_equal(symbol.name, "here");
    assert_false(module_find_symbol_named(self, "no_such_symbol", &symbol));
    assert_false(module_find_symbol(self, (uintptr_t)&sink, &symbol));
    modules_destroy(modules);
    target_close(target);
}

static bool count_symbol(void *context, const struct module_symbol *symbol)
{
    size_t *count = context;
    assert_non_null(symbol->name);
    return ++*count < 10;
}

static void sections_and_visits(void **state)
{
    (void)state;
    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    struct module *self = find_module(modules, text_address(here));
    psc_addr address;
    uint64_t size;
    assert_true(module_find_section(self, ".text", &address, &size));
    assert_in_range((uintptr_t)text_address(here), address, address + size - 1);
    assert_false(module_find_section(self, ".no_such_section", &address, &size));
    size_t count = 0;
    module_each_symbol(self, count_symbol, &count);
    assert_int_equal(count, 10);

    struct module *vdso = modules_find(modules, target->auxv.vdso);
    if (target->auxv.vdso) {
        struct module_symbol symbol;
        assert_non_null(vdso);
        assert_string_equal(vdso->path, "[vdso]");
        assert_true(module_find_symbol_named(vdso, "__vdso_gettimeofday", &symbol));
    }
    modules_destroy(modules);
    target_close(target);
}

/* A build cache may give the compiler a path that is relative to the folder of the build. */
static void assert_this_file(const char *path)
{
    const char *own = __FILE__;
    while (!strncmp(own, "../", 3))
        own += 3;
    size_t size = strlen(own);
    assert_non_null(path);
    assert_true(strlen(path) >= size && !strcmp(path + strlen(path) - size, own));
}

static void lines_are_the_compilers(void **state)
{
    (void)state;
    psc_addr addresses[3];
    unsigned int line = __LINE__ + 1;
    addresses[0] = (uintptr_t)here();
    sink++;
    addresses[1] = (uintptr_t)&sink;
    addresses[2] = (uintptr_t)here();
    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    struct module *self = find_module(modules, text_address(here));
    module_open(self);
    if (!self->has_debug_info) {
        fprintf(stderr, "SKIPPED: this test is built without debug information\n");
        modules_destroy(modules);
        target_close(target);
        skip();
    }
    struct module_line lines[3];
    for (int again = 0; again < 2; again++) {
        module_find_lines(self, addresses, 3, lines);
        assert_this_file(lines[0].file);
        assert_int_equal(lines[0].line, line);
        assert_null(lines[1].file);
        assert_this_file(lines[2].file);
        assert_int_equal(lines[2].line, line + 3);
    }
    modules_destroy(modules);
    target_close(target);
}

static void inlines_are_the_compilers(void **state)
{
    (void)state;
    psc_addr address = (uintptr_t)physical_function();
    struct target *target = self_open();
    struct modules *modules = self_modules(target);
    struct module *self = find_module(modules, text_address(here));
    module_open(self);
    if (!self->has_debug_info) {
        fprintf(stderr, "SKIPPED: this test is built without debug information\n");
        modules_destroy(modules);
        target_close(target);
        skip();
    }
    struct module_inline calls[8];
    assert_int_equal(module_find_inlines(self, address, calls, 8), 2);
    assert_string_equal(calls[0].function, "inner_inlined");
    assert_int_equal(calls[0].call_line, inner_line);
    assert_this_file(calls[0].call_file);
    assert_string_equal(calls[1].function, "outer_inlined");
    assert_int_equal(calls[1].call_line, outer_line);
    assert_int_equal(module_find_inlines(self, address, calls, 1), 1);
    assert_int_equal(module_find_inlines(self, (uintptr_t)text_address(here), calls, 8), 0);
    modules_destroy(modules);
    target_close(target);
}

/** What memory alone tells, when the file is gone. */
static void module_of_a_missing_file(void **state)
{
    (void)state;
    struct target *target = self_open();
    for (size_t i = 0; i < target->file_count; i++)
        target->files[i]->state = TARGET_FILE_MISSING;
    struct modules *modules = self_modules(target);
    struct expected_modules expected = {modules, 0};
    dl_iterate_phdr(check_loaded, &expected);
    assert_int_equal(modules_count(modules), expected.seen);
    struct module *self = find_module(modules, text_address(here));
    struct module_symbol symbol;
    struct module_line line;
    psc_addr address = (uintptr_t)text_address(here);
    assert_non_null(self->build_id_hex);
    assert_false(module_find_symbol(self, address, &symbol));
    assert_false(module_find_symbol_named(self, "main", &symbol));
    module_find_lines(self, &address, 1, &line);
    assert_null(line.file);
    assert_int_equal(module_find_inlines(self, address, NULL, 0), 0);
    assert_null(module_dwarf(self));
    /* What is loaded of it: what it exports. */
    struct module *libc = find_module(modules, (const void *)(uintptr_t)gnu_get_libc_version);
    assert_non_null(module_elf(self));
    assert_true(self->from_memory);
    assert_true(module_find_symbol(libc, (uintptr_t)gnu_get_libc_version + 1, &symbol));
    assert_string_equal(symbol.name, "gnu_get_libc_version");
    assert_int_equal(symbol.address, (uintptr_t)gnu_get_libc_version);
    assert_true(libc->from_memory && libc->eh_frame_hdr);
    modules_destroy(modules);
    target_close(target);
}

/** coredump_filter without ELF headers: the file tells; without a file the mappings do. */
static void module_without_a_dumped_header(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        struct target *target = self_open();
        struct modules *modules = self_modules(target);
        struct module *self = find_module(modules, text_address(here));
        psc_addr start = self->start;
        psc_addr bias = self->bias;
        modules_destroy(modules);
        target_close(target);

        target = self_open();
        struct self_backend *backend = target->backend;
        backend->hidden = start;
        backend->hidden_size = 4096;
        for (size_t i = 0; missing && i < target->file_count; i++)
            target->files[i]->state = TARGET_FILE_MISSING;
        modules = self_modules(target);
        self = find_module(modules, text_address(here));
        assert_non_null(self);
        assert_int_equal(self->start, start);
        assert_int_equal(self->bias, bias);
        if (!missing) {
            struct module_symbol symbol;
            assert_true(module_find_symbol(self, (uintptr_t)text_address(here), &symbol));
            assert_string_equal(symbol.name, "here");
            assert_non_null(self->build_id_hex);
        }
        modules_destroy(modules);
        target_close(target);
    }
}

static void names_are_demangled(void **state)
{
    (void)state;
    static const struct {
        const char *symbol;
        const char *name;
    } cases[] = {
        {"main", NULL},
        {"_PyEval_EvalFrameDefault", NULL},
        {"unicode_new.cold", NULL},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
        {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.1234567890",
         "core::fmt::Write::write_fmt"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_Z3addIiET_S0_S0_", "add<int>"},
        {"_Z7computedi.constprop.0.cold", "compute"},
        {"_Z7computedi.part.3", "compute"},
        {"_ZNK3Foo3barEv", "Foo::bar"},
        {"_Zgarbage", NULL},
        {"_R", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        char *name = demangle_symbol(cases[i].symbol, DEMANGLED_LIMIT, NULL);
        if (cases[i].name) {
            assert_non_null(name);
            assert_string_equal(name, cases[i].name);
        } else {
            assert_null(name);
        }
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_the_loaders),
        cmocka_unit_test(file_mapped_to_be_read_is_no_module),
        cmocka_unit_test(symbols_are_the_loaders),
        cmocka_unit_test(sections_and_visits),
        cmocka_unit_test(lines_are_the_compilers),
        cmocka_unit_test(inlines_are_the_compilers),
        cmocka_unit_test(module_of_a_missing_file),
        cmocka_unit_test(module_without_a_dumped_header),
        cmocka_unit_test(names_are_demangled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
